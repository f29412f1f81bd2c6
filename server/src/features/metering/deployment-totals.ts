import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import { formatDecimal } from '../../base/decimal.ts'
import { meterNames } from '../../base/meters.ts'
import type { Database } from '../../database/tables.ts'

/** The columns of a deployment that its totals need, such as `deployments.id`. */
interface Columns {
  id: RawBuilder<string>
  organizationId: RawBuilder<number>
}

/** The cost since an hour, as settled within the last minute; its index has deployment, meter and hour. */
export function costSince(
  { id, organizationId }: Columns,
  since: Date,
  currency: string,
): RawBuilder<string> {
  return sql`(SELECT coalesce(sum(quantity * unit_amount), 0) FROM usage_buckets
    WHERE usage_buckets.organization_id = ${organizationId} AND usage_buckets.deployment_id = ${id}
      AND meter IN (${sql.join(meterNames.map((name) => sql.lit(name)))}) AND hour >= ${since} AND currency = ${currency})`
}

/** The answered requests since an hour, from the index by deployment and hour. */
export function requestsSince({ id }: Pick<Columns, 'id'>, since: Date): RawBuilder<number> {
  return sql`(SELECT coalesce(sum(requests), 0) FROM token_usage
    WHERE token_usage.deployment_id = ${id} AND hour >= ${since})`
}

/** The cost of a deployment since an hour, a decimal, and the hour of its last answered request. */
export interface DeploymentTotals {
  cost: string
  lastUsedAt: Date | null
}

/** The totals of deployments by id, in one statement. */
export async function readDeploymentTotals(
  db: Database,
  deployments: readonly { id: string; organization_id: number }[],
  since: Date,
  currency: string,
): Promise<Map<string, DeploymentTotals>> {
  const wanted = deployments.map(({ id, organization_id }) => ({ id, organization_id }))
  const columns = { id: sql<string>`wanted.id`, organizationId: sql<number>`wanted.organization_id` }
  const { rows } = await sql<DeploymentTotals & { id: string }>`
    SELECT wanted.id, ${costSince(columns, since, currency)}::text AS cost,
      (SELECT coalesce(late_for, hour) FROM token_usage WHERE deployment_id = wanted.id ORDER BY hour DESC LIMIT 1) AS "lastUsedAt"
    FROM jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) AS wanted (id uuid, organization_id bigint)`.execute(
    db,
  )
  return new Map(rows.map(({ id, cost, lastUsedAt }) => [id, { cost: formatDecimal(cost), lastUsedAt }]))
}
