import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { buildConsole } from '../../../scripts/build-console.ts'
import { startEmbeddedDatabase } from '../../src/database/embedded.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a PostgreSQL server where tests can create databases */
    postgresUrl: string
  }
}

/** Builds the console and starts one real PostgreSQL for all test files of a run. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  buildConsole()
  const dataDirectory = await mkdtemp(join(tmpdir(), 'berth-tests-'))
  // As root, PostgreSQL runs under another account, which must be able to enter this folder.
  await chmod(dataDirectory, 0o755)
  const database = await startEmbeddedDatabase({
    dataDirectory,
    log: () => {},
    settings: { fsync: 'off', max_connections: '300' },
  })
  provide('postgresUrl', database.url)
  return async () => {
    await database.stop()
    await rm(dataDirectory, { recursive: true, force: true })
  }
}
