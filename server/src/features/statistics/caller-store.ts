import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { Buckets } from './histogram.ts'

/** Totals of a caller's requests. */
interface CallerTotals {
  userId: number
  requests: number
  inputTokens: number
  outputTokens: number
  /** Histogram of the time in Berth's queue */
  waitingBuckets: Buckets
}

/** Totals of a caller's requests to a deployment that ended in one minute. */
export interface CallerMinute extends CallerTotals {
  deploymentId: string
  minute: Date
}

/** The totals of a caller over several minutes. */
export interface CallerSum extends CallerTotals {
  email: string
  name: string
}

/** Adds to stored minutes. `minutes` has each minute of a caller once. Skips unknown deployments. */
export async function addCallerMinutes(db: Database, minutes: readonly CallerMinute[]): Promise<void> {
  const rows = minutes.map((minute) => ({
    deployment_id: minute.deploymentId,
    minute: minute.minute,
    user_id: minute.userId,
    requests: minute.requests,
    input_tokens: minute.inputTokens,
    output_tokens: minute.outputTokens,
    waiting_buckets: minute.waitingBuckets,
  }))
  // The fixed row order prevents deadlocks between processes.
  await sql`
    INSERT INTO caller_minutes AS stored (deployment_id, minute, user_id, requests, input_tokens, output_tokens, waiting_buckets)
    SELECT row.* FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS row (deployment_id uuid, minute timestamptz,
      user_id bigint, requests bigint, input_tokens bigint, output_tokens bigint, waiting_buckets jsonb)
    JOIN deployments ON deployments.id = row.deployment_id
    ORDER BY row.deployment_id, row.minute, row.user_id
    ON CONFLICT (deployment_id, minute, user_id) DO UPDATE SET
      requests = stored.requests + excluded.requests,
      input_tokens = stored.input_tokens + excluded.input_tokens,
      output_tokens = stored.output_tokens + excluded.output_tokens,
      waiting_buckets = add_buckets(stored.waiting_buckets, excluded.waiting_buckets)`.execute(db)
}

/** A deployment's callers since `from`, those with the most requests first. `userId` selects one. */
export async function sumCallers(
  db: Database,
  deploymentId: string,
  from: Date,
  userId: number | null,
): Promise<CallerSum[]> {
  const { rows } = await sql<CallerSum>`
    WITH minutes AS (
      SELECT * FROM caller_minutes
      WHERE deployment_id = ${deploymentId} AND minute >= ${from} AND user_id = coalesce(${userId}, user_id)
    ), waits AS (
      SELECT user_id, jsonb_object_agg(bucket, number) AS buckets
      FROM (
        SELECT user_id, bucket, sum(number::bigint) AS number
        FROM minutes CROSS JOIN LATERAL jsonb_each_text(waiting_buckets) AS each_bucket (bucket, number)
        GROUP BY user_id, bucket
      ) AS sums
      GROUP BY user_id
    )
    SELECT users.id AS "userId", users.email, users.name, sum(requests)::bigint AS requests,
      sum(input_tokens)::bigint AS "inputTokens", sum(output_tokens)::bigint AS "outputTokens",
      waits.buckets AS "waitingBuckets"
    FROM minutes JOIN waits USING (user_id) JOIN users ON users.id = minutes.user_id
    GROUP BY users.id, waits.buckets
    ORDER BY sum(requests) DESC, users.id`.execute(db)
  return rows
}
