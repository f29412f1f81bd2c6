import type { Services } from '../../services.ts'
import type { Database } from '../../database/tables.ts'
import { countOpenAnomalies } from './anomalies.ts'
import { add, formatDecimal, fromThousandths, multiply } from '../../base/decimal.ts'
import { floorHour, latest } from './hours.ts'
import { planSettlement } from './ledger.ts'
import type { UsageBucket } from './ledger.ts'
import { endpointService, meters } from '../../base/meters.ts'
import type { Dimensions, MeterName } from '../../base/meters.ts'
import { createPriceFinder } from './settle.ts'
import { findSealedThrough, loadOpenLedger, sumSealedUsage } from './store.ts'
import type { UsageScope, UsageSum } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'prices'>

/** Usage by meter, combination of dimensions and price. Quantities and amounts are decimal strings. */
export interface UsageTotal {
  meter: MeterName
  unit: 'second' | 'token'
  totalQuantity: string
  serviceKey: string
  displayName: string
  dimensions: Dimensions
  /** Price per unit in the currency's main unit */
  unitAmount: string
  currency: string
  /** Quantity times price, not rounded */
  estimatedAmount: string
}

export interface UsageSummary {
  organizationId: number
  periodStart: Date
  periodEnd: Date
  currency: string
  usageTotals: UsageTotal[]
  openAnomalies: number
}

/** A billing period, and from when on its usage is charged; null without a subscription. */
export interface UsagePeriod {
  start: Date
  end: Date
  chargedSince: Date | null
}

/** Sums a period's hours, both ends rounded down, from the charged part of the first. Open spans end now. */
export function summarizeUsage(
  deps: Deps,
  organizationId: number,
  period: UsagePeriod,
): Promise<UsageSummary> {
  const scope = toPeriodScope(period)
  return readSnapshot(deps.db, async (db) => ({
    organizationId,
    periodStart: period.start,
    periodEnd: period.end,
    currency: deps.config.billing.currency,
    usageTotals: await listTotals(deps, db, organizationId, scope),
    openAnomalies: await countOpenAnomalies(db, organizationId),
  }))
}

/** The usage that belongs to a period. */
export function toPeriodScope({ start, end, chargedSince }: UsagePeriod): {
  from: Date
  to: Date
  chargedOnly: boolean
} {
  const from = floorHour(chargedSince === null ? start : latest(start, chargedSince))
  return { from, to: floorHour(end), chargedOnly: chargedSince !== null && chargedSince >= from }
}

/** The cost of an organization's usage so far: a decimal string in the currency's main unit, not rounded. */
export function sumAmount(deps: Deps, organizationId: number, scope: UsageScope = {}): Promise<string> {
  return readSnapshot(deps.db, async (db) => {
    const totals = await listTotals(deps, db, organizationId, scope)
    return totals
      .filter(({ currency }) => currency === deps.config.billing.currency)
      .filter(({ serviceKey }) => scope.withoutEndpoints !== true || serviceKey !== endpointService)
      .reduce((sum, { estimatedAmount }) => add(sum, estimatedAmount), '0')
  })
}

/** Adds stored sealed buckets to freshly computed open ones, so that totals are exact at any moment. */
async function listTotals(
  deps: Deps,
  db: Database,
  organizationId: number,
  scope: UsageScope,
): Promise<UsageTotal[]> {
  const sealedThrough = await findSealedThrough(db, organizationId)
  if (sealedThrough === null) return []
  const open = await listOpenBuckets(deps, db, organizationId, sealedThrough, scope)
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
      currency: price.unit?.currency ?? deps.config.billing.currency,
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

/** The unsealed buckets, computed up to now. */
export async function listOpenBuckets(
  { clock, prices }: Pick<Deps, 'clock' | 'prices'>,
  db: Database,
  organizationId: number,
  sealedThrough: Date,
  { from, to, chargedOnly, deploymentId }: UsageScope,
): Promise<UsageBucket[]> {
  const ledger = await loadOpenLedger(db, organizationId, sealedThrough)
  return planSettlement(ledger, clock(), createPriceFinder(prices)).buckets.filter(
    (bucket) =>
      (from === undefined || bucket.hour >= from) &&
      (to === undefined || bucket.hour < to) &&
      !(chargedOnly === true && bucket.beforeCharging) &&
      (deploymentId === undefined || bucket.deploymentId === deploymentId),
  )
}

/** Runs `read` in one snapshot, so that every hour appears exactly once, either sealed or open. */
export function readSnapshot<Result>(db: Database, read: (db: Database) => Promise<Result>): Promise<Result> {
  return db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(read)
}
