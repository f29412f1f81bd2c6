import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { buildConsole } from '../../../scripts/build-console.ts'
import { startEmbeddedDatabase } from '../../src/database/embedded.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of a PostgreSQL in which tests may create databases */
    postgresUrl: string
  }
}

/** One real PostgreSQL for all test files of a run, and the console as servers serve it. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  buildConsole()
  const dataDirectory = await mkdtemp(join(tmpdir(), 'berth-tests-'))
  // Started by root, PostgreSQL has an account of its own and would live elsewhere if that couldn't get in.
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
