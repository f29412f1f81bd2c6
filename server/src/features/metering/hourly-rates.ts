import { sql } from 'kysely'
import { add } from '../../base/decimal.ts'
import type { Database } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { findHourlyPrice } from './instance-prices.ts'
import { ownerTeam } from './usage-team.ts'

/** What an instance of a deployment costs per hour: a decimal string in the account's currency. */
export interface HourlyRate {
  deploymentId: string
  /** The owner */
  userId: number
  /** The team that has their usage; null for none */
  teamId: number | null
  perHour: string
}

interface Row {
  deploymentId: string
  userId: number
  teamId: number | null
  plannedPrice: string | null
  instanceType: string | null
  region: string | null
}

/** Rates of open and waiting instances, without `exceptId`'s; in one statement, so that each appears once. */
export async function listHourlyRates(
  db: Database,
  { prices, clock }: Pick<Services, 'prices' | 'clock'>,
  organizationId: number,
  exceptId: string | null,
): Promise<HourlyRate[]> {
  const { rows } = await sql<Row>`
    SELECT deployments.id AS "deploymentId", deployments.user_id AS "userId", ${ownerTeam} AS "teamId",
      deployments.planned_price_per_hour AS "plannedPrice",
      coalesce(span.instance_type, instance.instance_type) AS "instanceType",
      coalesce(span.region, instance.region) AS region
    FROM deployments JOIN instances AS instance ON instance.deployment_id = deployments.id
    LEFT JOIN instance_spans AS span ON span.engine_id = instance.id AND span.ended_at IS NULL
    WHERE deployments.organization_id = ${organizationId} AND deployments.id IS DISTINCT FROM ${exceptId}::uuid
      AND instance.status <> 'released'
      AND (span.id IS NOT NULL OR instance.status IN ('requested', 'provisioning'))`.execute(db)
  const now = clock()
  return rows.map(({ deploymentId, userId, teamId, plannedPrice, instanceType, region }) => {
    const isPlaced = instanceType !== null && region !== null
    const price = isPlaced ? findHourlyPrice(prices, { instanceType, region }, now) : plannedPrice
    return { deploymentId, userId, teamId, perHour: price ?? '0' }
  })
}

/** What the open and waiting instances of an organization cost per hour: a decimal string. */
export async function sumHourlyRates(
  deps: Pick<Services, 'db' | 'prices' | 'clock'>,
  organizationId: number,
): Promise<string> {
  const rates = await listHourlyRates(deps.db, deps, organizationId, null)
  return rates.reduce((sum, { perHour }) => add(sum, perHour), '0')
}
