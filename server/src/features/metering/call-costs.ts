import { sql } from 'kysely'
import type { Services } from '../../services.ts'
import { divideUsage } from './divide-usage.ts'
import { addHours, earliest, floorHour } from './hours.ts'
import { findSealedThrough } from './store.ts'
import { listOpenBuckets, readSnapshot, toPeriodScope } from './summary.ts'
import type { UsagePeriod } from './summary.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'prices'>

/**
 * What a member's requests cost at the deployments of others, or what a team has of the usage. Decimal
 * strings in the account's currency.
 */
export interface CallCost {
  organizationId: number
  scope: 'member' | 'team'
  /** Of the user or the team */
  scopeId: number
  /** In the period up to now */
  spent: string
  /** In the last 24 hours, and the rest of the hour before */
  recent: string
}

/** Sums what the members and the teams of each organization have called in its period. */
export async function sumCallCosts(
  deps: Deps,
  periods: readonly { organizationId: number; period: UsagePeriod }[],
): Promise<CallCost[]> {
  const costs: CallCost[] = []
  for (const { organizationId, period } of periods) {
    costs.push(...(await sumCosts(deps, organizationId, period)))
  }
  return costs
}

function sumCosts(deps: Deps, organizationId: number, period: UsagePeriod): Promise<CallCost[]> {
  const { from, to, chargedOnly } = toPeriodScope(period)
  const dayBefore = floorHour(addHours(deps.clock(), -24))
  const days = { from: earliest(from, dayBefore), to }
  return readSnapshot(deps.db, async (db) => {
    const sealedThrough = await findSealedThrough(db, organizationId)
    if (sealedThrough === null) return []
    const open = await listOpenBuckets(deps, db, organizationId, sealedThrough, days)
    const { rows } = await sql<CallCost>`
      WITH ${divideUsage(organizationId, days, open)}
      SELECT ${organizationId}::bigint AS "organizationId", scope, scope_id AS "scopeId",
        coalesce(sum(quantity * unit_amount) FILTER (WHERE hour >= ${from}
          AND NOT (${chargedOnly}::boolean AND before_charging)), 0)::text AS spent,
        coalesce(sum(quantity * unit_amount) FILTER (WHERE hour >= ${dayBefore}), 0)::text AS recent
      FROM shares JOIN deployments ON deployments.id = shares.deployment_id
        CROSS JOIN LATERAL (VALUES ('member', nullif(shares.user_id, deployments.user_id)), ('team', shares.team_id))
          AS counted (scope, scope_id)
      WHERE scope_id IS NOT NULL AND currency = ${deps.config.billing.currency}
      GROUP BY scope, scope_id`.execute(db)
    return rows
  })
}
