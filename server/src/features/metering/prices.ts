import type { MeteredPrice } from '../../ports/payment-processor.ts'
import { formatDecimal } from './decimal.ts'
import { floorHour } from './hours.ts'
import type { BucketPrice } from './ledger.ts'
import { meterNames, meters, toPriceKey } from './meters.ts'
import type { Dimensions, MeterName } from './meters.ts'

/** One row of the price file: what a unit costs while it is valid, for all usage that has these dimensions. */
export interface Price {
  meter: MeterName
  dimensions: Dimensions
  /** `{instance_type}` and the like stand for the usage's own dimensions */
  displayName: string
  /** Of one unit in the currency's main unit, a decimal string */
  unitAmount: string
  currency: string
  /** A whole UTC hour, the first */
  validFrom: Date
  /** A whole UTC hour, no longer; null: until further notice */
  validUntil: Date | null
}

/** Instances that are known by name; prices of others are published when they are named in the price file in full. */
const knownInstances: readonly Dimensions[] = [
  { instance_type: 'local-cpu', region: 'local' },
  { instance_type: 'local-gpu', region: 'local' },
]

/** What usage in an hour costs: by the price that names most of its dimensions; `unit` is null where none is valid. */
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
 * Everything that is charged for now, as a payment processor must know it: this server's instances, those that runtimes offer
 * (`instances`), and what the price file names in full. What is free of charge is left out. Throws where two would have one key.
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

/** How many dimensions a price names: the more, the sooner it is taken. */
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
