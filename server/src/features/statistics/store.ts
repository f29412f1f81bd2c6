import { sql } from 'kysely'
import { deleteOlder } from '../../database/delete-older.ts'
import type { Database } from '../../database/tables.ts'
import type { Buckets } from './histogram.ts'

/** Totals of the requests to a deployment that ended in one minute, and the load in it. */
export interface DeploymentMinute {
  deploymentId: string
  minute: Date
  requests: number
  errors: number
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

/** Adds to the stored minutes. Each minute may occur once in `minutes`. Unknown deployments are skipped. */
export async function addMinutes(db: Database, minutes: readonly DeploymentMinute[]): Promise<void> {
  const rows = minutes.map((minute) => ({
    deployment_id: minute.deploymentId,
    minute: minute.minute,
    requests: minute.requests,
    errors: minute.errors,
    caller_left: minute.callerLeft,
    retries: minute.retries,
    input_tokens: minute.inputTokens,
    output_tokens: minute.outputTokens,
    in_flight_seconds: minute.inFlightSeconds,
    waiting_seconds: minute.waitingSeconds,
    first_byte_buckets: minute.firstByteBuckets,
    duration_buckets: minute.durationBuckets,
  }))
  // The fixed row order prevents deadlocks between processes.
  await sql`
    INSERT INTO deployment_minutes AS stored (deployment_id, minute, requests, errors, caller_left, retries, input_tokens, output_tokens,
      in_flight_seconds, waiting_seconds, first_byte_buckets, duration_buckets)
    SELECT row.* FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS row (deployment_id uuid, minute timestamptz,
      requests bigint, errors bigint, caller_left bigint, retries bigint, input_tokens bigint, output_tokens bigint, in_flight_seconds float8,
      waiting_seconds float8, first_byte_buckets jsonb,
      duration_buckets jsonb)
    JOIN deployments ON deployments.id = row.deployment_id
    ORDER BY row.deployment_id, row.minute
    ON CONFLICT (deployment_id, minute) DO UPDATE SET
      requests = stored.requests + excluded.requests,
      errors = stored.errors + excluded.errors,
      caller_left = stored.caller_left + excluded.caller_left,
      retries = stored.retries + excluded.retries,
      input_tokens = stored.input_tokens + excluded.input_tokens,
      output_tokens = stored.output_tokens + excluded.output_tokens,
      in_flight_seconds = stored.in_flight_seconds + excluded.in_flight_seconds,
      waiting_seconds = stored.waiting_seconds + excluded.waiting_seconds,
      first_byte_buckets = add_buckets(stored.first_byte_buckets, excluded.first_byte_buckets),
      duration_buckets = add_buckets(stored.duration_buckets, excluded.duration_buckets)`.execute(db)
}

/** The minutes of a deployment since `from`, in order, without empty ones. */
export function listMinutes(db: Database, deploymentId: string, from: Date): Promise<DeploymentMinute[]> {
  return db
    .selectFrom('deployment_minutes')
    .select(['deployment_id as deploymentId', 'minute', 'requests', 'errors'])
    .select(['caller_left as callerLeft', 'retries'])
    .select(['input_tokens as inputTokens', 'output_tokens as outputTokens'])
    .select(['in_flight_seconds as inFlightSeconds', 'waiting_seconds as waitingSeconds'])
    .select(['first_byte_buckets as firstByteBuckets', 'duration_buckets as durationBuckets'])
    .where('deployment_id', '=', deploymentId)
    .where('minute', '>=', from)
    .orderBy('minute')
    .execute()
}

const retentionHours = 48

export async function pruneMinutes(db: Database, now: Date): Promise<void> {
  const before = new Date(now.getTime() - retentionHours * 3_600_000)
  await deleteOlder(db, 'deployment_minutes', 'minute', before)
  await deleteOlder(db, 'caller_minutes', 'minute', before)
}
