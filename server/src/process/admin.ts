import { runAdmin } from './admin/run-admin.ts'

process.exitCode = await runAdmin(process.argv.slice(2), { settings: process.env, console })
