import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase } from '../../src/database/connect.ts'
import type { DatabaseConnection } from '../../src/database/connect.ts'
import { deleteOlder } from '../../src/database/delete-older.ts'
import { migrateDatabase } from '../../src/database/migrate.ts'
import { createTestDatabase } from '../support/database.ts'

const before = new Date('2026-03-03T00:00:00Z')

let database: { url: string; drop(): Promise<void> }
let connection: DatabaseConnection
beforeAll(async () => {
  database = await createTestDatabase()
  connection = connectDatabase(database.url, 1, () => {})
  await migrateDatabase(connection.db)
  await sql`
    CREATE FUNCTION refuse_much() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (SELECT count(*) FROM removed) > 10000 THEN RAISE EXCEPTION 'that takes too long'; END IF;
      RETURN NULL;
    END
    $$;
    CREATE TRIGGER refuse_much AFTER DELETE ON token_batches
      REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION refuse_much()`.execute(
    connection.db,
  )
})
afterAll(async () => {
  await connection?.close()
  await database?.drop()
})

test.each([
  ['a second apart', '1 s'],
  ['with the same timestamp', '0 s'],
])('many rows %s are deleted in short statements, and newer rows stay', async (_, apart) => {
  const { db } = connection
  await sql`
    INSERT INTO token_batches (id, recorded_at)
    SELECT gen_random_uuid(), ${before}::timestamptz - interval '1 microsecond' - n * ${apart}::interval
    FROM generate_series(1, 30000) AS n`.execute(db)
  await db
    .insertInto('token_batches')
    .values({ id: '9d9cbd0c-6f0a-4f6e-8f2e-3a0f4ac1c5f1', recorded_at: before })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await deleteOlder(db, 'token_batches', 'recorded_at', before)
  expect(await db.selectFrom('token_batches').select('recorded_at').execute()).toEqual([
    { recorded_at: before },
  ])
})
