import type { MeteredPrice } from '../../ports/payment-processor.ts'
import { formatDecimal } from './decimal.ts'
import { floorHour } from './hours.ts'
import type { BucketPrice } from './ledger.ts'
import type { Price } from '../../base/price.ts'
import { meterNames, meters, toPriceKey } from '../../base/meters.ts'
import type { Dimensions, MeterName } from '../../base/meters.ts'

/** The instances of the local runtime. Others are published when the runtime offers them or the price file names all dimensions. */
const knownInstances: readonly Dimensions[] = [
  { instance_type: 'local-cpu', region: 'local' },
  { instance_type: 'local-gpu', region: 'local' },
]

/** The price of usage in an hour: the most specific valid price wins; `unit` is null when none is valid. */
export function findPrice(
  prices: readonly Price[],
  meter: MeterName,
  dimensions: Dimensions,
  hour: Date,
): BucketPrice {
  let best: Price | undefined
  for (const price of prices) {
    if (price.meter !== meter || !isValidAt(price, hour) || !matches(price, dimensions)) continue
    if (best === undefined || specificity(price) > specificity(best)) best = price
  }
  const priceKey = toPriceKey(meter, dimensions)
  return {
    priceKey,
    serviceKey: meters[meter].serviceKey,
    displayName: best === undefined ? priceKey : fillIn(best.displayName, dimensions),
    unit: best === undefined ? null : { amount: best.unitAmount, currency: best.currency },
  }
}

/**
 * All current prices for the payment processor: those of local instances, of `instances` that runtimes offer, and of price file
 * rows that name every dimension. Free usage is omitted. Throws when two prices have the same key.
 */
export function listMeteredPrices(
  prices: readonly Price[],
  now: Date,
  instances: readonly Dimensions[] = [],
): MeteredPrice[] {
  const found = new Map<string, { dimensions: string; price: MeteredPrice }>()
  for (const meter of meterNames) {
    const named = prices.filter(
      (price) => price.meter === meter && specificity(price) === meters[meter].dimensions.length,
    )
    const combinations = [
      ...(meter === 'gpu_instance_seconds' ? [...knownInstances, ...instances] : []),
      ...named.map(({ dimensions }) => dimensions),
    ]
    for (const combination of combinations) {
      const { priceKey, displayName, unit } = findPrice(prices, meter, combination, floorHour(now))
      const dimensions = describe(combination)
      const namesake = found.get(priceKey)
      if (namesake !== undefined && namesake.dimensions !== dimensions) {
        throw new Error(`${dimensions} and ${namesake.dimensions} would have the same price key ${priceKey}`)
      }
      if (unit === null || Number(unit.amount) === 0) continue
      const unitAmountDecimal = formatDecimal(unit.amount)
      found.set(priceKey, {
        dimensions,
        price: { key: priceKey, displayName, unitAmountDecimal, currency: unit.currency },
      })
    }
  }
  return [...found.values()].map(({ price }) => price)
}

function isValidAt({ validFrom, validUntil }: Price, hour: Date): boolean {
  return validFrom <= hour && (validUntil === null || hour < validUntil)
}

/** The number of dimensions that a price names; the price with the most wins. */
export function specificity({ dimensions }: Price): number {
  return Object.keys(dimensions).length
}

function matches(price: Price, dimensions: Dimensions): boolean {
  return Object.entries(price.dimensions).every(([name, value]) => dimensions[name] === value)
}

function fillIn(text: string, dimensions: Dimensions): string {
  return text.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => dimensions[name] ?? placeholder)
}

function describe(dimensions: Dimensions): string {
  return Object.keys(dimensions)
    .toSorted()
    .map((name) => `${name}=${dimensions[name]}`)
    .join(', ')
}
