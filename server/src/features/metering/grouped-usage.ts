import { sql } from 'kysely'
import type { Services } from '../../services.ts'
import type { Database } from '../../database/tables.ts'
import { add, formatDecimal, fromThousandths, multiply } from '../../base/decimal.ts'
import type { UsageBucket } from './ledger.ts'
import { meters } from '../../base/meters.ts'
import type { Dimensions, MeterName } from '../../base/meters.ts'
import { findSealedThrough, sumSealedDays, toBucketRow } from './store.ts'
import type { DaySum } from './store.ts'
import { listOpenBuckets, readSnapshot } from './summary.ts'
import { tokenMeters } from './token-meters.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'prices'>

/** What the rows of a usage report stand for, apart from UTC days. */
export type UsageGrouping = 'member' | 'deployment' | 'model'

/** The user and the deployment of a row; of a group, the first. */
export type UsageShare = Pick<CallerUsage, 'deploymentId' | 'modelName' | 'userId' | 'email'>

/** A group's usage for one meter and one combination of dimensions. Amounts are decimal strings. */
export interface GroupUsage<Group> {
  group: Group
  meter: MeterName
  unit: 'second' | 'token'
  dimensions: Dimensions
  quantity: string
  /** Quantity times the prices of its hours, in the currency's main unit; not rounded */
  estimatedAmount: string
}

interface Days {
  from: Date
  to: Date
}

/** The usage by day (`2026-01-02`) of [from, to), both UTC midnights. Open spans count up to now. */
export function listDailyUsage(
  deps: Deps,
  organizationId: number,
  days: Days,
): Promise<GroupUsage<string>[]> {
  const { currency } = deps.config.billing
  return readUsage(deps, organizationId, days, async (db, open) => {
    const sealed = await sumSealedDays(db, organizationId, days, currency)
    const sums = [...sealed, ...open.map((bucket) => toDaySum(bucket, currency))]
    return addUp(
      sums,
      ({ date }) => date,
      (date) => date,
    )
  })
}

/** As `listDailyUsage`, by person, deployment or model as in `sumCallerUsage`; `userId`: only this person. */
export function listGroupedUsage(
  deps: Deps,
  organizationId: number,
  days: Days,
  grouping: UsageGrouping,
  userId: number | null,
): Promise<GroupUsage<UsageShare>[]> {
  return readUsage(deps, organizationId, days, async (db, open) => {
    const usage = await sumCallerUsage(db, organizationId, days, open, deps.config.billing.currency)
    const wanted = userId === null ? usage : usage.filter((each) => each.userId === userId)
    return addUp(wanted, (share): UsageShare => share, groupKeys[grouping])
  })
}

/** Keys of the groups, in the order of their rows. */
const groupKeys: Record<UsageGrouping, (share: UsageShare) => string> = {
  member: ({ email, userId }) => JSON.stringify([email, userId]),
  deployment: ({ modelName, deploymentId }) => JSON.stringify([modelName, deploymentId]),
  model: ({ modelName }) => modelName,
}

/** Reads from one snapshot. `read` gets the buckets of the hours that are not sealed. */
function readUsage<Row>(
  deps: Deps,
  organizationId: number,
  days: Days,
  read: (db: Database, open: readonly UsageBucket[]) => Promise<Row[]>,
): Promise<Row[]> {
  return readSnapshot(deps.db, async (db) => {
    const sealedThrough = await findSealedThrough(db, organizationId)
    if (sealedThrough === null) return []
    return read(db, await listOpenBuckets(deps, db, organizationId, sealedThrough, days))
  })
}

function toDaySum({ hour, meter, dimensions, thousandths, price }: UsageBucket, currency: string): DaySum {
  const quantity = fromThousandths(thousandths)
  const amount = price.unit?.currency === currency ? multiply(quantity, price.unit.amount) : '0'
  return { date: hour.toISOString().slice(0, 10), meter, dimensions, quantity, amount }
}

/** Adds up the sums whose groups have the same key. */
function addUp<Sum extends Omit<DaySum, 'date'>, Group>(
  sums: readonly Sum[],
  toGroup: (sum: Sum) => Group,
  toKey: (group: Group) => string,
): GroupUsage<Group>[] {
  const items = new Map<string, GroupUsage<Group>>()
  for (const sum of sums) {
    const { meter, dimensions, quantity, amount } = sum
    const group = toGroup(sum)
    const values = Object.entries(dimensions).toSorted(([one], [other]) => (one < other ? -1 : 1))
    const key = JSON.stringify([toKey(group), meter, values])
    const before = items.get(key)
    items.set(key, {
      group,
      meter,
      unit: meters[meter].unit,
      dimensions: Object.fromEntries(values),
      quantity: formatDecimal(add(before?.quantity ?? '0', quantity)),
      estimatedAmount: formatDecimal(add(before?.estimatedAmount ?? '0', amount)),
    })
  }
  return [...items.keys()].toSorted().map((key) => items.get(key)!)
}

/** A person's usage of a deployment, by meter and dimensions. Quantity and amount are decimals. */
interface CallerUsage {
  deploymentId: string
  modelName: string
  userId: number
  email: string
  meter: MeterName
  dimensions: Dimensions
  quantity: string
  amount: string
}

/**
 * Divides the usage of hours in [from, to), sealed and `open`, among people. Tokens belong to the caller. Of
 * an instance's seconds, each caller has the engine's work for them in that hour; if several at the same time
 * add up to more, they have their shares. The rest belongs to the deployment's owner, so that each hour's
 * parts add up to it. Amounts include only usage priced in `currency`.
 */
async function sumCallerUsage(
  db: Database,
  organizationId: number,
  { from, to }: { from: Date; to: Date },
  open: readonly UsageBucket[],
  currency: string,
): Promise<CallerUsage[]> {
  const { rows } = await sql<CallerUsage>`
    WITH buckets AS (
      SELECT deployment_id, meter, hour, before_charging, late_for, dimensions, quantity, unit_amount, currency
      FROM usage_buckets
      WHERE organization_id = ${organizationId} AND sealed_at IS NOT NULL AND hour >= ${from} AND hour < ${to}
      UNION ALL
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(open.map(toBucketRow))}::jsonb) AS row (deployment_id uuid, meter text,
        hour timestamptz, before_charging boolean, late_for timestamptz, dimensions jsonb, quantity numeric,
        unit_amount numeric, currency text)
    ), worked AS (
      -- Milliseconds of each caller. "through" orders the callers, so that rounding loses nothing.
      SELECT deployment_id, used_hour, user_id, own, sum(own) OVER (PARTITION BY deployment_id, used_hour ORDER BY user_id) AS through,
        sum(own) OVER (PARTITION BY deployment_id, used_hour) AS of_all
      FROM (
        SELECT deployment_id, coalesce(late_for, hour) AS used_hour, user_id, sum(processing_milliseconds) AS own
        FROM token_usage
        WHERE organization_id = ${organizationId} AND coalesce(late_for, hour) >= ${from} AND coalesce(late_for, hour) < ${to}
        GROUP BY 1, 2, 3
      ) AS callers
    ), held AS (
      SELECT *, quantity * 1000 AS milliseconds,
        sum(quantity * 1000) OVER (PARTITION BY deployment_id, hour) AS of_hour
      FROM buckets WHERE meter = 'gpu_instance_seconds'
    ), parts AS (
      SELECT held.deployment_id, worked.user_id, meter, dimensions, unit_amount, currency,
        (div(milliseconds * through, greatest(of_all, of_hour)) - div(milliseconds * (through - own), greatest(of_all, of_hour)))
          / 1000 AS quantity
      FROM held JOIN worked ON worked.deployment_id = held.deployment_id AND worked.used_hour = held.hour
      UNION ALL
      SELECT buckets.deployment_id, user_id, buckets.meter, dimensions, unit_amount, currency, counted.quantity
      FROM buckets JOIN token_usage AS tokens ON tokens.deployment_id = buckets.deployment_id AND tokens.hour = buckets.hour
          AND tokens.before_charging = buckets.before_charging AND tokens.late_for IS NOT DISTINCT FROM buckets.late_for
          AND tokens.model_name = buckets.dimensions ->> 'model_name'
        CROSS JOIN LATERAL ${tokenMeters} AS counted (meter, quantity)
      WHERE counted.meter = buckets.meter
    ), shares AS (
      SELECT * FROM parts
      UNION ALL
      -- What no caller has is the difference to the whole.
      SELECT deployment_id, NULL, meter, dimensions, unit_amount, currency, quantity FROM buckets
      UNION ALL
      SELECT deployment_id, NULL, meter, dimensions, unit_amount, currency, -quantity FROM parts
    )
    SELECT deployments.id AS "deploymentId", deployments.model_name AS "modelName", users.id AS "userId", users.email, meter, dimensions,
      sum(quantity)::text AS quantity,
      coalesce(sum(quantity * unit_amount) FILTER (WHERE currency = ${currency}), 0)::text AS amount
    FROM shares JOIN deployments ON deployments.id = shares.deployment_id
      JOIN users ON users.id = coalesce(shares.user_id, deployments.user_id)
    GROUP BY deployments.id, users.id, meter, dimensions
    HAVING sum(quantity) > 0`.execute(db)
  return rows
}
