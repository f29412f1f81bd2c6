import { sql } from 'kysely'
import { deleteOlder } from '../../database/delete-older.ts'
import type { Database } from '../../database/tables.ts'
import type { Buckets } from './histogram.ts'

/** Rows of a minute or of an hour; each is a pair of tables, for deployments and for their callers. */
export type Resolution = 'minute' | 'hour'

const tables = {
  minute: { deployments: 'deployment_minutes', callers: 'caller_minutes' },
  hour: { deployments: 'deployment_hours', callers: 'caller_hours' },
} as const satisfies Record<Resolution, object>

/** The names of a resolution's tables, and of their column with the start of the time. */
export function namesOf(resolution: Resolution) {
  const { deployments, callers } = tables[resolution]
  return { deployments: sql.table(deployments), callers: sql.table(callers), at: sql.ref(resolution) }
}

/** The start of the minute or hour of a moment. */
export function floorTo(resolution: Resolution, at: Date): Date {
  const milliseconds = resolution === 'hour' ? 3_600_000 : 60_000
  return new Date(at.getTime() - (at.getTime() % milliseconds))
}

/** Totals of the requests to a deployment that ended in one minute or hour, and the load in it. */
export interface DeploymentTotals {
  deploymentId: string
  at: Date
  requests: number
  errors: number
  /** Requests without a complete response of their model: count by HTTP status */
  failedByStatus: Record<string, number>
  /** Requests whose caller left before the end of the response */
  callerLeft: number
  /** Requests that a client library sent again */
  retries: number
  inputTokens: number
  outputTokens: number
  inFlightSeconds: number
  waitingSeconds: number
  firstByteBuckets: Buckets
  durationBuckets: Buckets
}

/** Adds to the stored rows. Each time of a deployment may occur once. Unknown deployments are skipped. */
export async function addTotals(
  db: Database,
  resolution: Resolution,
  totals: readonly DeploymentTotals[],
): Promise<void> {
  const rows = totals.map((each) => ({
    deployment_id: each.deploymentId,
    at: each.at,
    requests: each.requests,
    errors: each.errors,
    failed_by_status: each.failedByStatus,
    caller_left: each.callerLeft,
    retries: each.retries,
    input_tokens: each.inputTokens,
    output_tokens: each.outputTokens,
    in_flight_seconds: each.inFlightSeconds,
    waiting_seconds: each.waitingSeconds,
    first_byte_buckets: each.firstByteBuckets,
    duration_buckets: each.durationBuckets,
  }))
  const { deployments, at } = namesOf(resolution)
  // The fixed row order prevents deadlocks between processes.
  await sql`
    INSERT INTO ${deployments} AS stored (deployment_id, ${at}, requests, errors, failed_by_status, caller_left, retries, input_tokens,
      output_tokens, in_flight_seconds, waiting_seconds, first_byte_buckets, duration_buckets)
    SELECT row.* FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS row (deployment_id uuid, at timestamptz,
      requests bigint, errors bigint, failed_by_status jsonb, caller_left bigint, retries bigint, input_tokens bigint, output_tokens bigint,
      in_flight_seconds float8, waiting_seconds float8, first_byte_buckets jsonb, duration_buckets jsonb)
    JOIN deployments ON deployments.id = row.deployment_id
    ORDER BY row.deployment_id, row.at
    ON CONFLICT (deployment_id, ${at}) DO UPDATE SET
      requests = stored.requests + excluded.requests,
      errors = stored.errors + excluded.errors,
      failed_by_status = add_buckets(stored.failed_by_status, excluded.failed_by_status),
      caller_left = stored.caller_left + excluded.caller_left,
      retries = stored.retries + excluded.retries,
      input_tokens = stored.input_tokens + excluded.input_tokens,
      output_tokens = stored.output_tokens + excluded.output_tokens,
      in_flight_seconds = stored.in_flight_seconds + excluded.in_flight_seconds,
      waiting_seconds = stored.waiting_seconds + excluded.waiting_seconds,
      first_byte_buckets = add_buckets(stored.first_byte_buckets, excluded.first_byte_buckets),
      duration_buckets = add_buckets(stored.duration_buckets, excluded.duration_buckets)`.execute(db)
}

/** The totals of a deployment since `from`, in order, without empty ones. */
export async function listTotals(
  db: Database,
  resolution: Resolution,
  deploymentId: string,
  from: Date,
): Promise<DeploymentTotals[]> {
  const { deployments, at } = namesOf(resolution)
  const { rows } = await sql<DeploymentTotals>`
    SELECT deployment_id AS "deploymentId", ${at} AS at, requests, errors, failed_by_status AS "failedByStatus",
      caller_left AS "callerLeft", retries, input_tokens AS "inputTokens", output_tokens AS "outputTokens",
      in_flight_seconds AS "inFlightSeconds", waiting_seconds AS "waitingSeconds",
      first_byte_buckets AS "firstByteBuckets", duration_buckets AS "durationBuckets"
    FROM ${deployments}
    WHERE deployment_id = ${deploymentId} AND ${at} >= ${from}
    ORDER BY ${at}`.execute(db)
  return rows
}

/** Runs `add` in a transaction, exactly once per id. */
export async function addBatch(
  db: Database,
  id: string,
  add: (transaction: Database) => Promise<void>,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const { numInsertedOrUpdatedRows: inserted } = await transaction
      .insertInto('statistics_batches')
      .values({ id })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow()
    if (inserted === 1n) await add(transaction)
  })
}

/** Deletes a batch's record, once nothing can write the batch again. */
export async function forgetBatch(db: Database, id: string): Promise<void> {
  await db.deleteFrom('statistics_batches').where('id', '=', id).execute()
}

const minutesMilliseconds = 48 * 3_600_000

/** Deletes minutes and batches after two days, and hours after `retentionMilliseconds`. */
export async function pruneStatistics(db: Database, now: Date, retentionMilliseconds: number): Promise<void> {
  const minutesBefore = new Date(now.getTime() - minutesMilliseconds)
  await deleteOlder(db, 'deployment_minutes', 'minute', minutesBefore)
  await deleteOlder(db, 'caller_minutes', 'minute', minutesBefore)
  await deleteOlder(db, 'statistics_batches', 'recorded_at', minutesBefore)
  const hoursBefore = new Date(now.getTime() - retentionMilliseconds)
  await deleteOlder(db, 'deployment_hours', 'hour', hoursBefore)
  await deleteOlder(db, 'caller_hours', 'hour', hoursBefore)
}
