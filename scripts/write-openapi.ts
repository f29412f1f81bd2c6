// Writes openapi.json as served with the default settings. A test fails when the file is outdated.
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pino } from 'pino'
import type { Application } from '../server/src/wiring/application.ts'
import { readConfig } from '../server/src/config/config.ts'
import { buildServer } from '../server/src/process/server.ts'

// Describing the routes needs only the settings. Only calls of routes use the database and other services.
const application = {
  config: readConfig({}),
  log: pino({ level: 'silent' }),
  runtimes: {},
  inference: { engineTotals: { measure() {} }, waking: { stop() {} } },
} as unknown as Application
const app = await buildServer(application)
await app.ready()
const path = resolve(import.meta.dirname, '../openapi.json')
await writeFile(path, `${JSON.stringify(app.swagger(), null, 2)}\n`)
await app.close()
