import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { Buckets } from './histogram.ts'
import { namesOf } from './store.ts'
import type { Resolution } from './store.ts'

/** Totals of a caller's requests. */
interface CallerTotals {
  userId: number
  requests: number
  inputTokens: number
  outputTokens: number
  /** Histogram of the time in Berth's queue */
  waitingBuckets: Buckets
}

/** Totals of a caller's requests to a deployment that ended in one minute or hour. */
export interface CallerTime extends CallerTotals {
  deploymentId: string
  at: Date
}

/** The totals of a caller over several minutes or hours. */
export interface CallerSum extends CallerTotals {
  email: string
  name: string
}

/** Adds to the stored rows. `totals` has each time of a caller once. Skips unknown deployments. */
export async function addCallerTotals(
  db: Database,
  resolution: Resolution,
  totals: readonly CallerTime[],
): Promise<void> {
  const rows = totals.map((each) => ({
    deployment_id: each.deploymentId,
    at: each.at,
    user_id: each.userId,
    requests: each.requests,
    input_tokens: each.inputTokens,
    output_tokens: each.outputTokens,
    waiting_buckets: each.waitingBuckets,
  }))
  const { callers, at } = namesOf(resolution)
  // The fixed row order prevents deadlocks between processes.
  await sql`
    INSERT INTO ${callers} AS stored (deployment_id, ${at}, user_id, requests, input_tokens, output_tokens, waiting_buckets)
    SELECT row.* FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS row (deployment_id uuid, at timestamptz,
      user_id bigint, requests bigint, input_tokens bigint, output_tokens bigint, waiting_buckets jsonb)
    JOIN deployments ON deployments.id = row.deployment_id
    ORDER BY row.deployment_id, row.at, row.user_id
    ON CONFLICT (deployment_id, ${at}, user_id) DO UPDATE SET
      requests = stored.requests + excluded.requests,
      input_tokens = stored.input_tokens + excluded.input_tokens,
      output_tokens = stored.output_tokens + excluded.output_tokens,
      waiting_buckets = add_buckets(stored.waiting_buckets, excluded.waiting_buckets)`.execute(db)
}

/** A deployment's callers since `from`, those with the most requests first. `userId` selects one. */
export async function sumCallers(
  db: Database,
  resolution: Resolution,
  deploymentId: string,
  from: Date,
  userId: number | null,
): Promise<CallerSum[]> {
  const { callers, at } = namesOf(resolution)
  const { rows } = await sql<CallerSum>`
    WITH times AS (
      SELECT * FROM ${callers}
      WHERE deployment_id = ${deploymentId} AND ${at} >= ${from} AND user_id = coalesce(${userId}, user_id)
    ), waits AS (
      SELECT user_id, jsonb_object_agg(bucket, number) AS buckets
      FROM (
        SELECT user_id, bucket, sum(number::bigint) AS number
        FROM times CROSS JOIN LATERAL jsonb_each_text(waiting_buckets) AS each_bucket (bucket, number)
        GROUP BY user_id, bucket
      ) AS sums
      GROUP BY user_id
    )
    SELECT users.id AS "userId", users.email, users.name, sum(requests)::bigint AS requests,
      sum(input_tokens)::bigint AS "inputTokens", sum(output_tokens)::bigint AS "outputTokens",
      waits.buckets AS "waitingBuckets"
    FROM times JOIN waits USING (user_id) JOIN users ON users.id = times.user_id
    GROUP BY users.id, waits.buckets
    ORDER BY sum(requests) DESC, users.id`.execute(db)
  return rows
}
