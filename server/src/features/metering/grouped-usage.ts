import type { Services } from '../../services.ts'
import type { Database } from '../../database/tables.ts'
import { sumCallerUsage } from './caller-usage.ts'
import type { CallerUsage } from './caller-usage.ts'
import { add, formatDecimal, fromThousandths, multiply } from '../../base/decimal.ts'
import type { UsageBucket } from './ledger.ts'
import { meters } from '../../base/meters.ts'
import type { Dimensions, MeterName } from '../../base/meters.ts'
import { findSealedThrough, sumSealedDays } from './store.ts'
import type { DaySum } from './store.ts'
import { listOpenBuckets, readSnapshot } from './summary.ts'

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
