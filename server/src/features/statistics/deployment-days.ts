import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { Buckets } from './histogram.ts'

/** The requests to a deployment over several hours. */
export interface DeploymentDay {
  deploymentId: string
  requests: number
  errors: number
  firstByteBuckets: Buckets
  /** Output tokens by the number of the hour since the first one */
  tokensByHour: Record<string, number>
  /** The last minute with a request or load */
  lastMinute: Date | null
}

/** The requests to deployments since an hour, in one statement; without those that had none. */
export async function listDeploymentDays(
  db: Database,
  deploymentIds: readonly string[],
  from: Date,
): Promise<DeploymentDay[]> {
  const { rows } = await sql<DeploymentDay>`
    WITH hours AS (
      SELECT *, div(extract(epoch FROM hour - ${from}::timestamptz), 3600)::int AS step
      FROM deployment_hours WHERE deployment_id = ANY(${deploymentIds}) AND hour >= ${from}
    ), tokens AS (
      SELECT deployment_id, jsonb_object_agg(step, output_tokens) AS by_hour FROM hours GROUP BY 1
    ), first_bytes AS (
      SELECT deployment_id, jsonb_object_agg(bucket, number) AS buckets
      FROM (
        SELECT deployment_id, bucket, sum(number::bigint) AS number
        FROM hours CROSS JOIN LATERAL jsonb_each_text(first_byte_buckets) AS each_bucket (bucket, number)
        GROUP BY 1, 2
      ) AS sums
      GROUP BY 1
    )
    SELECT deployment_id AS "deploymentId", sum(requests)::bigint AS requests, sum(errors)::bigint AS errors,
      coalesce(buckets, '{}') AS "firstByteBuckets", by_hour AS "tokensByHour",
      (SELECT max(minute) FROM deployment_minutes WHERE deployment_minutes.deployment_id = hours.deployment_id) AS "lastMinute"
    FROM hours JOIN tokens USING (deployment_id) LEFT JOIN first_bytes USING (deployment_id)
    GROUP BY deployment_id, buckets, by_hour`.execute(db)
  return rows
}
