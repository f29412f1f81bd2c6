import { sql } from 'kysely'
import type { Services } from '../../services.ts'
import type { Database } from '../../database/tables.ts'
import { add, formatDecimal, fromThousandths, multiply } from '../../base/decimal.ts'
import type { UsageBucket } from './ledger.ts'
import { meters } from '../../base/meters.ts'
import type { Dimensions, MeterName } from '../../base/meters.ts'
import { divideUsage } from './divide-usage.ts'
import { findSealedThrough, sumSealedDays } from './store.ts'
import type { DaySum } from './store.ts'
import { listOpenBuckets, readSnapshot } from './summary.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'prices'>

/** What the rows of a usage report stand for, apart from UTC days. */
export type UsageGrouping = 'team' | 'member' | 'deployment' | 'model'

/** The team, the user and the deployment of a row; of a group, the first. */
export type UsageShare = Omit<CallerUsage, 'meter' | 'dimensions' | 'quantity' | 'amount'>

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

/** As `listDailyUsage`, in groups of `sumCallerUsage`; `userId`: only this person. */
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
  // By name; deleted teams and what has no team at the end
  team: ({ teamId, teamName }) =>
    JSON.stringify([teamId === null ? 2 : teamName === null ? 1 : 0, teamName, teamId]),
  member: ({ email, userId, outsideName }) => JSON.stringify([email, userId, outsideName]),
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

/** A person's usage of a deployment that a team has, by meter and dimensions, in decimals. */
interface CallerUsage {
  deploymentId: string
  modelName: string
  userId: number
  email: string
  /** What the program called somebody who is no member; null for its own usage */
  outsideName: string | null
  /** null for none */
  teamId: number | null
  /** null for a deleted team too */
  teamName: string | null
  meter: MeterName
  dimensions: Dimensions
  quantity: string
  amount: string
}

/** As `divideUsage` says, by team, person, deployment, meter and dimensions. */
async function sumCallerUsage(
  db: Database,
  organizationId: number,
  days: Days,
  open: readonly UsageBucket[],
  currency: string,
): Promise<CallerUsage[]> {
  const { rows } = await sql<CallerUsage>`
    WITH ${divideUsage(organizationId, days, open)}
    SELECT deployments.id AS "deploymentId", deployments.model_name AS "modelName", users.id AS "userId", users.email,
      outside_name AS "outsideName", shares.team_id AS "teamId", teams.name AS "teamName", meter, dimensions,
      sum(quantity)::text AS quantity,
      coalesce(sum(quantity * unit_amount) FILTER (WHERE currency = ${currency}), 0)::text AS amount
    FROM shares JOIN deployments ON deployments.id = shares.deployment_id
      JOIN users ON users.id = coalesce(shares.user_id, deployments.user_id)
      LEFT JOIN teams ON teams.id = shares.team_id
    GROUP BY deployments.id, users.id, outside_name, shares.team_id, teams.id, meter, dimensions
    HAVING sum(quantity) > 0`.execute(db)
  return rows
}
