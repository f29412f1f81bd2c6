import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { buildConsole } from '../../../scripts/build-console.ts'
import { runningAsRoot } from '../../src/base/account.ts'
import { createLog } from '../../src/base/log.ts'
import { readConfig } from '../../src/config/config.ts'
import { startEmbeddedDatabase } from '../../src/database/embedded.ts'
import { listJobs } from '../../src/process/worker.ts'
import { createApplication } from '../../src/wiring/create-application.ts'
import { administer, endSessionsOf } from './administer-database.ts'

const root = resolve(import.meta.dirname, '../../..')

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a PostgreSQL server where tests can create databases */
    postgresUrl: string
    /** A database there with Berth's schema and the catalog, to copy */
    migratedDatabase: string
  }
}

/**
 * Creates a database with Berth's schema and catalog, because a copy takes less time than a migration.
 */
async function createMigratedDatabase(postgresUrl: string, dataDirectory: string): Promise<string> {
  const name = 'migrated'
  await administer(postgresUrl, `CREATE DATABASE ${name}`)
  const url = new URL(postgresUrl)
  url.pathname = `/${name}`
  const config = readConfig({ ROLE: 'migrate', DATABASE_URL: url.href, DATA_DIR: dataDirectory })
  const log = createLog({ level: 'silent' }, () => {})
  const application = await createApplication(config, { log })
  await application.jobs.prepare(listJobs(application))
  await application.close()
  // A database can be copied only while it has no session, and those of the job queue may outlive its end.
  await administer(postgresUrl, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`, endSessionsOf(name))
  return name
}

/** Builds the console and starts one real PostgreSQL for all test files of a run. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  buildConsole()
  const dataDirectory = await mkdtemp(join(tmpdir(), 'berth-tests-'))
  // The processes that tests start compile the same code, most of them with an empty DATA_DIR. Vitest's
  // workers inherit this. Kept, because workers write to it until they end.
  const compiled = join(root, 'node_modules/.cache/tests')
  await mkdir(compiled, { recursive: true })
  // As root, engines run under another account, and Node keeps the code of each account apart.
  if (runningAsRoot()) await chmod(compiled, 0o1777)
  process.env['NODE_COMPILE_CACHE'] = compiled
  // As root, PostgreSQL runs under another account, which must be able to enter this folder.
  await chmod(dataDirectory, 0o755)
  const database = await startEmbeddedDatabase({
    dataDirectory,
    log: () => {},
    settings: { fsync: 'off', max_connections: '300' },
  })
  provide('postgresUrl', database.url)
  provide('migratedDatabase', await createMigratedDatabase(database.url, dataDirectory))
  return async () => {
    await database.stop()
    await rm(dataDirectory, { recursive: true, force: true })
  }
}
