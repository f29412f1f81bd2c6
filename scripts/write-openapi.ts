// Writes openapi.json as a server with the default settings serves it; a test fails when the file is stale.
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pino } from 'pino'
import type { Application } from '../server/src/application.ts'
import { readConfig } from '../server/src/config.ts'
import { buildServer } from '../server/src/server.ts'

// Routes use the database and the rest when they are called; to be described they need the settings alone.
const application = { config: readConfig({}), log: pino({ level: 'silent' }) } as Application
const app = await buildServer(application)
await app.ready()
const path = resolve(import.meta.dirname, '../openapi.json')
await writeFile(path, `${JSON.stringify(app.swagger(), null, 2)}\n`)
await app.close()
