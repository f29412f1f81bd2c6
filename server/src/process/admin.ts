import { runAdmin } from './admin-commands.ts'

process.exitCode = await runAdmin(process.argv.slice(2), { settings: process.env, console })
