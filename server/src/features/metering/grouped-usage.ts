import type { Services } from '../../services.ts'
import type { Database } from '../../database/tables.ts'
import { add, formatDecimal, fromThousandths, multiply } from './decimal.ts'
import type { UsageBucket } from './ledger.ts'
import { meters } from '../../base/meters.ts'
import type { Dimensions, MeterName } from '../../base/meters.ts'
import { findSealedThrough, listOwnership, sumSealedGroups } from './store.ts'
import type { GroupSum, UsageOwnership } from './store.ts'
import { listOpenBuckets, readSnapshot } from './summary.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'prices'>

export type { UsageOwnership } from './store.ts'

/** What the rows of a usage report stand for, apart from UTC days. */
export type UsageGrouping = 'member' | 'deployment' | 'model'

/** The usage of one group for one meter and one combination of its dimensions. Amounts are decimal strings. */
export interface GroupUsage<Group> {
  group: Group
  meter: MeterName
  unit: 'second' | 'token'
  dimensions: Dimensions
  quantity: string
  /** Quantity times the prices of its hours, in the currency's main unit; not rounded */
  estimatedAmount: string
}

/** The usage of the days in [from, to), both UTC midnights, by day such as `2026-01-02`, in order. Open spans count up to now. */
export function listDailyUsage(
  deps: Deps,
  organizationId: number,
  days: { from: Date; to: Date },
): Promise<GroupUsage<string>[]> {
  return readSnapshot(deps.db, async (db) =>
    addUp(
      await sumGroups(deps, db, organizationId, days, 'day'),
      (date) => date,
      (date) => date,
    ),
  )
}

/**
 * The usage of the days in [from, to), both UTC midnights, by the owner, the id or the model of the deployments. Open spans count
 * up to now. `ownerId` selects the deployments of one person.
 */
export function listGroupedUsage(
  deps: Deps,
  organizationId: number,
  days: { from: Date; to: Date },
  grouping: UsageGrouping,
  ownerId: number | null,
): Promise<GroupUsage<UsageOwnership>[]> {
  return readSnapshot(deps.db, async (db) => {
    const listed = await listOwnership(db, organizationId, ownerId)
    const deployments = new Map(listed.map((deployment) => [deployment.id, deployment]))
    const sums = await sumGroups(deps, db, organizationId, days, 'deployment')
    return addUp(
      sums.filter(({ group }) => deployments.has(group)),
      (id) => deployments.get(id)!,
      (deployment) => groupKeys[grouping](deployment),
    )
  })
}

/** Keys of the groups, in the order of their rows. */
const groupKeys: Record<UsageGrouping, (deployment: UsageOwnership) => string> = {
  member: ({ email, userId }) => JSON.stringify([email, userId]),
  deployment: ({ modelName, id }) => JSON.stringify([modelName, id]),
  model: ({ modelName }) => modelName,
}

async function sumGroups(
  deps: Deps,
  db: Database,
  organizationId: number,
  days: { from: Date; to: Date },
  by: 'day' | 'deployment',
): Promise<GroupSum[]> {
  const { currency } = deps.config.billing
  const sealedThrough = await findSealedThrough(db, organizationId)
  if (sealedThrough === null) return []
  const open = await listOpenBuckets(deps, db, organizationId, sealedThrough, days)
  const sealed = await sumSealedGroups(db, organizationId, days, currency, by)
  return [...sealed, ...open.map((bucket) => toGroupSum(bucket, currency, by))]
}

function toGroupSum(
  { deploymentId, hour, meter, dimensions, thousandths, price }: UsageBucket,
  currency: string,
  by: 'day' | 'deployment',
): GroupSum {
  const group = by === 'day' ? hour.toISOString().slice(0, 10) : deploymentId
  const quantity = fromThousandths(thousandths)
  const amount = price.unit?.currency === currency ? multiply(quantity, price.unit.amount) : '0'
  return { group, meter, dimensions, quantity, amount }
}

/** Adds up the sums whose groups have the same key. */
function addUp<Group>(
  sums: readonly GroupSum[],
  toGroup: (group: string) => Group,
  toKey: (group: Group) => string,
): GroupUsage<Group>[] {
  const items = new Map<string, GroupUsage<Group>>()
  for (const { group: name, meter, dimensions, quantity, amount } of sums) {
    const group = toGroup(name)
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
