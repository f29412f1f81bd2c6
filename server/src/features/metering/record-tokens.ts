import { sql } from 'kysely'
import { deleteOlder } from '../../database/delete-older.ts'
import type { Database } from '../../database/tables.ts'

/** Tokens that one request took in and gave out. */
export interface TokenUsage {
  inputTokens: number
  outputTokens: number
}

/** What the requests to a deployment in a UTC hour used together. */
export interface TokenTotal extends TokenUsage {
  deploymentId: string
  organizationId: number
  modelName: string
  hour: Date
  requests: number
}

/**
 * Adds totals to their hours, or to the first hour that is not sealed where that is later, in one statement. What is of no known
 * deployment is left out.
 */
export async function recordTokens(db: Database, totals: readonly TokenTotal[]): Promise<void> {
  const rows = totals.map((total) => ({
    deployment_id: total.deploymentId,
    model_name: total.modelName,
    hour: total.hour,
    requests: total.requests,
    input_tokens: total.inputTokens,
    output_tokens: total.outputTokens,
  }))
  // The locks keep the hours from being sealed meanwhile; after waiting for one the row is read anew. They are taken, and the
  // rows written, in the same order by all.
  await sql`
    WITH given AS (
      SELECT row.*, deployments.organization_id FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS row (deployment_id uuid,
        model_name text, hour timestamptz, requests bigint, input_tokens bigint, output_tokens bigint)
      JOIN deployments ON deployments.id = row.deployment_id
    ), cursors AS (
      SELECT organization_id, sealed_through FROM usage_cursors
      WHERE organization_id IN (SELECT organization_id FROM given)
      ORDER BY organization_id FOR KEY SHARE
    )
    INSERT INTO token_usage AS tokens (deployment_id, organization_id, model_name, hour, requests, input_tokens, output_tokens)
    SELECT deployment_id, organization_id, min(model_name), greatest(hour, sealed_through) AS open_hour, sum(requests),
      sum(input_tokens), sum(output_tokens)
    FROM given LEFT JOIN cursors USING (organization_id)
    GROUP BY deployment_id, organization_id, open_hour
    ORDER BY deployment_id, open_hour
    ON CONFLICT (deployment_id, hour) DO UPDATE SET
      requests = tokens.requests + excluded.requests,
      input_tokens = tokens.input_tokens + excluded.input_tokens,
      output_tokens = tokens.output_tokens + excluded.output_tokens`.execute(db)
}

/**
 * Records the totals of a batch once, however often it is called with its id. `read` gives them while nobody else can record the
 * batch; where it throws nothing is recorded.
 */
export async function recordTokenBatch(
  db: Database,
  id: string,
  read: () => Promise<readonly TokenTotal[]>,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const { numInsertedOrUpdatedRows: inserted } = await transaction
      .insertInto('token_batches')
      .values({ id })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow()
    if (inserted === 1n) await recordTokens(transaction, await read())
  })
}

/** Forgets a recorded batch. Its file must be gone, and with it the process's own memory of it: who has neither can't record it again. */
export async function deleteTokenBatch(db: Database, id: string): Promise<void> {
  await db.deleteFrom('token_batches').where('id', '=', id).execute()
}

/** Batches whose process died are remembered for longer than a journal may lie unread. */
const rememberedDays = 400

export async function deleteOldTokenBatches(db: Database, now: Date): Promise<void> {
  const before = new Date(now.getTime() - rememberedDays * 24 * 3_600_000)
  await deleteOlder(db, 'token_batches', 'recorded_at', before)
}
