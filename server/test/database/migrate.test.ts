import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { beforeEach, expect, test } from 'vitest'
import { migrateDatabase } from '../../src/database/migrate.ts'
import type { Database, Tables } from '../../src/database/tables.ts'
import { createTestDatabase } from '../support/database.ts'
import { patient } from './scratch.ts'

let url: string
let db: Database

beforeEach(async () => {
  const database = await createTestDatabase()
  url = database.url
  const pool = new pg.Pool({ connectionString: url, max: 1, statement_timeout: 100 })
  db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return async () => {
    await db.destroy()
    await database.drop()
  }
})

async function connect() {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return { client, [Symbol.asyncDispose]: () => client.end() }
}

test('a start waits for another process that migrates for longer than a query may take', async () => {
  await using migrating = await connect()
  // The lock of Kysely's migrator.
  await migrating.client.query('SELECT pg_advisory_lock(3853314791062309107)')
  const migrated = migrateDatabase(db)
  const waiting = `
    SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'
      AND query_start < clock_timestamp() - interval '0.5 s'`
  await Promise.race([
    migrated.then(() => expect.unreachable('it did not wait')),
    expect.poll(async () => (await migrating.client.query(waiting)).rowCount, patient).toBe(1),
  ])
  await migrating.client.query('SELECT pg_advisory_unlock_all()')
  expect((await migrated).at(0)).toBe('0001_accounts')
  expect((await sql`SHOW statement_timeout`.execute(db)).rows).toEqual([{ statement_timeout: '100ms' }])
})

test('an older version refuses a database that a newer one has migrated, and says which one to start', async () => {
  await migrateDatabase(db)
  await sql`INSERT INTO kysely_migration (name, timestamp) VALUES ('9999_later', now())`.execute(db)
  await expect(migrateDatabase(db)).rejects.toThrow(
    /by a newer version of Berth \(9999_later\): start that version/,
  )
})
