import type { Services } from '../../services.ts'
import { add, formatDecimal, fromThousandths, multiply } from './decimal.ts'
import type { UsageBucket } from './ledger.ts'
import { meters } from '../../base/meters.ts'
import type { Dimensions, MeterName } from '../../base/meters.ts'
import { findSealedThrough, sumSealedDays } from './store.ts'
import type { DaySum } from './store.ts'
import { listOpenBuckets, readSnapshot } from './summary.ts'

/** The usage of one UTC day for one meter and one combination of its dimensions. Amounts are decimal strings. */
export interface DayUsage {
  /** E.g. `2026-01-02` */
  date: string
  meter: MeterName
  unit: 'second' | 'token'
  dimensions: Dimensions
  quantity: string
  /** Quantity times the prices of that day, in the currency's main unit; not rounded */
  estimatedAmount: string
}

/** The usage of the days in [from, to), both UTC midnights, in order. Open spans count up to now. */
export function listDailyUsage(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'prices'>,
  organizationId: number,
  days: { from: Date; to: Date },
): Promise<DayUsage[]> {
  const { currency } = deps.config.billing
  return readSnapshot(deps.db, async (db) => {
    const sealedThrough = await findSealedThrough(db, organizationId)
    if (sealedThrough === null) return []
    const open = await listOpenBuckets(deps, db, organizationId, sealedThrough, days)
    const sealed = await sumSealedDays(db, organizationId, days, currency)
    return addUp([...sealed, ...open.map((bucket) => toDaySum(bucket, currency))])
  })
}

function toDaySum({ hour, meter, dimensions, thousandths, price }: UsageBucket, currency: string): DaySum {
  const quantity = fromThousandths(thousandths)
  const amount = price.unit?.currency === currency ? multiply(quantity, price.unit.amount) : '0'
  return { date: hour.toISOString().slice(0, 10), meter, dimensions, quantity, amount }
}

function addUp(sums: readonly DaySum[]): DayUsage[] {
  const items = new Map<string, DayUsage>()
  for (const { date, meter, dimensions, quantity, amount } of sums) {
    const values = Object.entries(dimensions).toSorted(([one], [other]) => (one < other ? -1 : 1))
    const key = JSON.stringify([date, meter, values])
    const before = items.get(key)
    items.set(key, {
      date,
      meter,
      unit: meters[meter].unit,
      dimensions,
      quantity: formatDecimal(add(before?.quantity ?? '0', quantity)),
      estimatedAmount: formatDecimal(add(before?.estimatedAmount ?? '0', amount)),
    })
  }
  return [...items.keys()].toSorted().map((key) => items.get(key)!)
}
