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
  // Dropping the database may cut a connection that is still closing.
  pool.on('error', () => {})
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

test('a start waits while another process migrates, longer than the statement timeout', async () => {
  await using migrating = await connect()
  // The lock of Kysely's migrator.
  await migrating.client.query('SELECT pg_advisory_lock(3853314791062309107)')
  const migrated = migrateDatabase(db)
  const waiting = `
    SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'
      AND query_start < clock_timestamp() - interval '0.5 s'`
  await Promise.race([
    migrated.then(() => expect.unreachable('the migration did not wait')),
    expect.poll(async () => (await migrating.client.query(waiting)).rowCount, patient).toBe(1),
  ])
  await migrating.client.query('SELECT pg_advisory_unlock_all()')
  expect((await migrated).at(0)).toBe('0001-organizations')
  expect((await sql`SHOW statement_timeout`.execute(db)).rows).toEqual([{ statement_timeout: '100ms' }])
})

test('a version older than the database refuses to start and names the unknown migrations', async () => {
  await migrateDatabase(db)
  await insertMigration('9999-later')
  await expect(migrateDatabase(db)).rejects.toThrow(
    /by a newer version of Berth \(9999-later\)\. Start that version/,
  )
})

test('a database of a development version is refused with a remedy and not changed', async () => {
  await migrateDatabase(db)
  await sql`DELETE FROM kysely_migration`.execute(db)
  await insertMigration('0001_accounts')
  await expect(migrateDatabase(db)).rejects.toThrow(
    /before the first release \(0001_accounts\) and can't be upgraded\. Start with an empty database: set DATA_DIR/,
  )
  const { rows } = await sql`SELECT name FROM kysely_migration`.execute(db)
  expect(rows).toEqual([{ name: '0001_accounts' }])
})

test.each([
  ['DROP TABLE webhook_messages', /lacks webhook_messages, webhook_messages_created_idx/],
  ['DROP INDEX mails_due_idx', /lacks mails_due_idx\. Restore the backup into an empty database/],
])('half a restore is refused with what it lacks: %s', async (statement, message) => {
  await migrateDatabase(db)
  expect(await migrateDatabase(db)).toEqual([])
  await sql.raw(statement).execute(db)
  await expect(migrateDatabase(db)).rejects.toThrow(message)
})

function insertMigration(name: string) {
  return sql`INSERT INTO kysely_migration (name, timestamp) VALUES (${name}, now())`.execute(db)
}
