import { readFile, readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connectDatabase } from '../../src/database/connect.ts'
import type { DatabaseConnection } from '../../src/database/connect.ts'
import { recordTokens } from '../../src/features/metering/record-tokens.ts'
import { lockLedger } from '../../src/features/metering/spans.ts'
import { createTestDatabase } from '../support/database.ts'

const migrations = resolve(import.meta.dirname, '../../migrations')
const ids = ['1', '2', '3', '4'].map((digit) => `00000000-0000-7000-8000-00000000000${digit}`) as [
  string,
  ...string[],
]
let database: { url: string; drop(): Promise<void> }
let connection: DatabaseConnection

/** A database as it was before there was a ledger, with four deployments. */
beforeEach(async () => {
  database = await createTestDatabase()
  connection = connectDatabase(database.url, 4, () => {})
  await migrate((file) => file < '0010')
  await sql`INSERT INTO organizations (name, slug) VALUES ('Acme', 'acme')`.execute(connection.db)
  await sql`INSERT INTO users (email, name, current_organization_id) VALUES ('a@example.com', 'Ada', 1)`.execute(
    connection.db,
  )
  const states = [
    ['running', '10:00', null, '10:01'],
    ['failed', '10:00', '10:30', null],
    ['failed', '10:00', '09:59', '10:02'],
    ['deploying', '10:00', null, null],
  ] as const
  const at = (time: string | null) => time && `2026-01-31T${time}:00.000Z`
  for (const [index, [status, started, released, ran]] of states.entries()) {
    await sql`
      INSERT INTO deployments (id, user_id, organization_id, model_name, model_format, model_size_in_billions, quantization,
        inference_model_uid, variant, status, selected_instance_type, region, instance_started_at, instance_released_at, ran_at,
        created_at, updated_at, status_changed_at)
      VALUES (${ids[index]}, 1, 1, 'model', 'ggufv2', 1, 'F16', ${String(index)}, '{}', ${status}, 'small', 'here',
        ${at(started)}, ${at(released)}, ${at(ran)}, ${at(started)}, ${at(started)}, ${at(started)})`.execute(
      connection.db,
    )
  }
  await migrate((file) => file.startsWith('0010'))
})

afterEach(async () => {
  await connection?.close()
  await database?.drop()
})

async function migrate(isWanted: (file: string) => boolean): Promise<void> {
  for (const file of (await readdir(migrations)).toSorted().filter(isWanted)) {
    await sql.raw(await readFile(resolve(migrations, file), 'utf8')).execute(connection.db)
  }
}

test('deployments from before the ledger get their spans', async () => {
  const spans = await connection.db
    .selectFrom('instance_spans')
    .selectAll()
    .orderBy('deployment_id')
    .execute()
  const start = new Date('2026-01-31T10:00:00Z')
  const facts = spans.map((span) => [
    span.deployment_id,
    span.started_at,
    span.ended_at,
    span.confirmed_at !== null,
    span.voided_at !== null,
  ])
  expect(facts).toEqual([
    [ids[0], start, null, true, false],
    [ids[1], start, new Date('2026-01-31T10:30:00Z'), false, true],
    [ids[2], start, start, true, false],
    [ids[3], start, null, false, false],
  ])
})

test('tokens recorded while their hour is being sealed count in the next hour', async () => {
  const { db } = connection
  const hour = new Date('2026-01-31T10:00:00Z')
  const deployment = { deploymentId: ids[0], organizationId: 1, modelName: 'model' }
  const total = { ...deployment, hour, requests: 1, inputTokens: 1, outputTokens: 2 }
  const sealed = new Date('2026-01-31T11:00:00Z')
  let recorded = Promise.resolve()
  await db.transaction().execute(async (transaction) => {
    await lockLedger(transaction, 1)
    recorded = recordTokens(db, [total])
    const waiting = sql<{ waits: boolean }>`
      SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock') AS waits`
    await expect.poll(async () => (await waiting.execute(db)).rows[0]!.waits).toBe(true)
    await transaction.updateTable('usage_cursors').set({ sealed_through: sealed }).execute()
  })
  await recorded
  await recordTokens(db, [total])
  const rows = await db.selectFrom('token_usage').select(['hour', 'requests', 'output_tokens']).execute()
  expect(rows).toEqual([{ hour: sealed, requests: 2, output_tokens: 4 }])
})
