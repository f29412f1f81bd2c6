import type { Services } from '../../services.ts'
import type { Database } from '../../database/tables.ts'
import { countOpenAnomalies } from './anomaly-store.ts'
import { add, formatDecimal, fromThousandths, multiply } from './decimal.ts'
import { floorHour } from './hours.ts'
import { planSettlement } from './ledger.ts'
import type { UsageBucket } from './ledger.ts'
import { meters } from './meters.ts'
import type { Dimensions, MeterName } from './meters.ts'
import { createPriceFinder } from './settle.ts'
import { findSealedThrough, loadOpenLedger, sumSealedUsage } from './store.ts'
import type { UsageScope, UsageSum } from './store.ts'
import type { Price } from './prices.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config'> & { prices: readonly Price[] }

/** Usage of one meter in one combination of its dimensions at one price; quantities and amounts are decimal strings. */
export interface UsageTotal {
  meter: MeterName
  unit: 'second' | 'token'
  totalQuantity: string
  serviceKey: string
  displayName: string
  dimensions: Dimensions
  /** Of one unit, in the currency's main unit */
  unitAmount: string
  currency: string
  /** Quantity times price, not rounded */
  estimatedAmount: string
}

export interface UsageSummary {
  organizationId: number
  /** Whole UTC hours: the hour in which a period begins is all its own, and no part of the period before */
  periodStart: Date
  periodEnd: Date
  currency: string
  usageTotals: UsageTotal[]
  openAnomalies: number
}

/** What an organization used in the hours from that of `from` up to that of `to`, what runs counted up to now. */
export function summarizeUsage(
  world: Deps,
  organizationId: number,
  from: Date,
  to: Date,
): Promise<UsageSummary> {
  const periodStart = floorHour(from)
  const periodEnd = floorHour(to)
  return readSnapshot(world.db, async (db) => ({
    organizationId,
    periodStart,
    periodEnd,
    currency: world.config.billing.currency,
    usageTotals: await listTotals(world, db, organizationId, { from: periodStart, to: periodEnd }),
    openAnomalies: await countOpenAnomalies(db, organizationId),
  }))
}

/** What usage of an organization has cost so far, a decimal string in the currency's main unit; not rounded. */
export function sumAmount(world: Deps, organizationId: number, scope: UsageScope = {}): Promise<string> {
  return readSnapshot(world.db, async (db) => {
    const totals = await listTotals(world, db, organizationId, scope)
    return totals
      .filter(({ currency }) => currency === world.config.billing.currency)
      .reduce((sum, { estimatedAmount }) => add(sum, estimatedAmount), '0')
  })
}

/** Sealed hours as they are written, the others reckoned anew, so that it is exact at any moment. */
async function listTotals(
  world: Deps,
  db: Database,
  organizationId: number,
  scope: UsageScope,
): Promise<UsageTotal[]> {
  const sealedThrough = await findSealedThrough(db, organizationId)
  if (sealedThrough === null) return []
  const open = await listOpenBuckets(world, db, organizationId, sealedThrough, scope)
  const sealed = await sumSealedUsage(db, organizationId, scope)
  const sums: UsageSum[] = [
    ...sealed,
    ...open.map(({ meter, dimensions, thousandths, price }) => ({
      meter,
      dimensions,
      quantity: fromThousandths(thousandths),
      serviceKey: price.serviceKey,
      displayName: price.displayName,
      unitAmount: price.unit?.amount ?? '0',
      currency: price.unit?.currency ?? world.config.billing.currency,
    })),
  ]
  const totals = new Map<string, UsageTotal>()
  for (const { quantity, unitAmount, ...same } of sums) {
    const { meter, dimensions, serviceKey, displayName, currency } = same
    const unitAmountDecimal = formatDecimal(unitAmount)
    const parts = Object.entries(dimensions).toSorted(([one], [other]) => (one < other ? -1 : 1))
    const key = JSON.stringify([meter, parts, serviceKey, displayName, unitAmountDecimal, currency])
    const totalQuantity = add(totals.get(key)?.totalQuantity ?? '0', quantity)
    totals.set(key, {
      ...same,
      unit: meters[meter].unit,
      totalQuantity,
      unitAmount: unitAmountDecimal,
      estimatedAmount: multiply(totalQuantity, unitAmountDecimal),
    })
  }
  return [...totals.keys()].toSorted().map((key) => totals.get(key)!)
}

/** What is not sealed yet, as it stands now. */
export async function listOpenBuckets(
  { clock, prices }: Pick<Deps, 'clock' | 'prices'>,
  db: Database,
  organizationId: number,
  sealedThrough: Date,
  { from, to, deploymentId }: UsageScope,
): Promise<UsageBucket[]> {
  const ledger = await loadOpenLedger(db, organizationId, sealedThrough)
  return planSettlement(ledger, clock(), createPriceFinder(prices)).buckets.filter(
    (bucket) =>
      (from === undefined || bucket.hour >= from) &&
      (to === undefined || bucket.hour < to) &&
      (deploymentId === undefined || bucket.deploymentId === deploymentId),
  )
}

/** Runs `read` in one snapshot, so that no hour is seen both as sealed and as open, or as neither. */
export function readSnapshot<Result>(db: Database, read: (db: Database) => Promise<Result>): Promise<Result> {
  return db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(read)
}
