import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { administer, endSessionsOf } from './administer-database.ts'

/**
 * Creates a database for one test file, empty or with Berth's schema. `drop` also closes open connections.
 */
export async function createTestDatabase(
  content: 'empty' | 'migrated' = 'empty',
): Promise<{ url: string; drop(): Promise<void> }> {
  const postgresUrl = inject('postgresUrl')
  const name = `test_${randomBytes(8).toString('hex')}`
  const template = content === 'empty' ? '' : ` TEMPLATE ${inject('migratedDatabase')}`
  // The default strategy writes each page to the log too and takes twice the time.
  await administer(postgresUrl, `CREATE DATABASE ${name}${template} STRATEGY FILE_COPY`)
  const url = new URL(postgresUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    // WITH (FORCE) fails if an autovacuum worker is active and the role is not a superuser. A plain DROP
    // cancels the worker.
    drop: () => administer(postgresUrl, endSessionsOf(name), `DROP DATABASE ${name}`),
  }
}
