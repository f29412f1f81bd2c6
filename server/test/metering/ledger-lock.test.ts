import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connectDatabase } from '../../src/database/connect.ts'
import type { DatabaseConnection } from '../../src/database/connect.ts'
import { migrateDatabase } from '../../src/database/migrate.ts'
import { recordTokens } from '../../src/features/metering/record-tokens.ts'
import { lockLedger } from '../../src/features/metering/spans.ts'
import { createTestDatabase } from '../support/database.ts'

const deploymentId = randomUUID()
let database: { url: string; drop(): Promise<void> }
let connection: DatabaseConnection

beforeEach(async () => {
  database = await createTestDatabase()
  connection = connectDatabase(database.url, 4, () => {})
  const { db } = connection
  await migrateDatabase(db)
  await sql`INSERT INTO organizations (name, slug) VALUES ('Acme', 'acme')`.execute(db)
  await sql`INSERT INTO users (email, name, current_organization_id) VALUES ('a@example.com', 'Ada', 1)`.execute(
    db,
  )
  await sql`
    INSERT INTO deployments (id, user_id, organization_id, model_name, model_format, model_size_in_billions, quantization,
      inference_model_uid, variant, status, created_at, updated_at, status_changed_at)
    VALUES (${deploymentId}, 1, 1, 'model', 'ggufv2', 1, 'F16', 'model', '{}', 'requested', now(), now(), now())`.execute(
    db,
  )
  await lockLedger(db, 1)
})

afterEach(async () => {
  await connection?.close()
  await database?.drop()
})

test('tokens recorded while their hour is being sealed count in the next hour', async () => {
  const { db } = connection
  const hour = new Date('2026-01-31T10:00:00Z')
  const deployment = { deploymentId, organizationId: 1, modelName: 'model' }
  const caller = { userId: 1, processingMilliseconds: 0 }
  const total = { ...deployment, ...caller, at: hour, requests: 1, inputTokens: 1, outputTokens: 2 }
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
