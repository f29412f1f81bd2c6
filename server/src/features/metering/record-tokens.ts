import { sql } from 'kysely'
import { deleteOlder } from '../../database/delete-older.ts'
import type { Database } from '../../database/tables.ts'
import type { JournalContent } from './journal-file.ts'
import { insertRequests } from './request-log.ts'
import type { TokenTotal } from './token-usage.ts'

/**
 * Adds totals to their hours in one statement. Cached tokens count only with a separate price. Totals of a
 * sealed hour go to the first open hour (`late_for`: the sealed one). Skips unknown deployments and callers.
 */
export async function recordTokens(db: Database, totals: readonly TokenTotal[]): Promise<void> {
  const rows = totals.map((total) => ({
    deployment_id: total.deploymentId,
    model_name: total.modelName,
    at: total.at,
    requests: total.requests,
    input_tokens: total.inputTokens,
    output_tokens: total.outputTokens,
    cached_tokens: total.cachedTokens ?? 0,
    user_id: total.userId,
    outside_name: total.outsideName ?? null,
    team_id: total.teamId ?? null,
    processing_milliseconds: total.processingMilliseconds,
  }))
  // Share locks prevent seals (PostgreSQL rereads a row after waiting); their order prevents deadlocks.
  await sql`
    WITH given AS (
      SELECT row.*, deployments.organization_id
      FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS row (deployment_id uuid, model_name text,
        at timestamptz, requests bigint, input_tokens bigint, output_tokens bigint, cached_tokens bigint, user_id bigint, outside_name text,
        team_id bigint, processing_milliseconds bigint)
      JOIN deployments ON deployments.id = row.deployment_id
      JOIN users ON users.id = row.user_id
    ), cursors AS (
      SELECT organization_id, sealed_through, charged_since FROM usage_cursors
      WHERE organization_id IN (SELECT organization_id FROM given)
      ORDER BY organization_id FOR KEY SHARE
    )
    INSERT INTO token_usage AS tokens (deployment_id, organization_id, user_id, outside_name, team_id, model_name, hour, before_charging, late_for,
      requests, input_tokens, output_tokens, cached_tokens, processing_milliseconds)
    SELECT deployment_id, organization_id, user_id, outside_name, team_id, model_name, open_hour,
      coalesce(at < charged_since AND date_trunc('hour', charged_since, 'UTC') = open_hour, false) AS is_before,
      nullif(date_trunc('hour', at, 'UTC'), open_hour) AS used_hour, sum(requests), sum(input_tokens), sum(output_tokens), sum(cached_tokens),
      sum(processing_milliseconds)
    FROM given LEFT JOIN cursors USING (organization_id)
      CROSS JOIN LATERAL (SELECT greatest(date_trunc('hour', at, 'UTC'), sealed_through)) AS open (open_hour)
    GROUP BY deployment_id, organization_id, user_id, outside_name, team_id, model_name, open_hour, is_before, used_hour
    ORDER BY deployment_id, open_hour, is_before, used_hour, user_id, outside_name, team_id, model_name
    ON CONFLICT (deployment_id, hour, before_charging, late_for, user_id, outside_name, team_id, model_name) DO UPDATE SET
      requests = tokens.requests + excluded.requests,
      input_tokens = tokens.input_tokens + excluded.input_tokens,
      output_tokens = tokens.output_tokens + excluded.output_tokens,
      cached_tokens = tokens.cached_tokens + excluded.cached_tokens,
      processing_milliseconds = tokens.processing_milliseconds + excluded.processing_milliseconds`.execute(db)
}

/** Records a batch exactly once per id. `read` runs while it is locked; if it throws, nothing is recorded. */
export async function recordTokenBatch(
  db: Database,
  id: string,
  read: () => JournalContent | Promise<JournalContent>,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const { numInsertedOrUpdatedRows: inserted } = await transaction
      .insertInto('token_batches')
      .values({ id })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow()
    if (inserted !== 1n) return
    const { totals, rows } = await read()
    await recordTokens(transaction, totals)
    await insertRequests(transaction, rows)
  })
}

/** Deletes a batch's record. First delete its journal file and memory, or it could be recorded twice. */
export async function deleteTokenBatch(db: Database, id: string): Promise<void> {
  await db.deleteFrom('token_batches').where('id', '=', id).execute()
}

/** How long the batches of crashed processes are kept: longer than a journal file may stay unread. */
const retentionDays = 400

export async function deleteOldTokenBatches(db: Database, now: Date): Promise<void> {
  const before = new Date(now.getTime() - retentionDays * 24 * 3_600_000)
  await deleteOlder(db, 'token_batches', 'recorded_at', before)
}
