import type { MeteredPrice } from '../../ports/payment-processor.ts'
import { Exact, formatDecimal } from '../../base/decimal.ts'
import { parseShare } from '../../base/gpu-share.ts'
import { addHours, floorHour } from './hours.ts'
import type { BucketPrice } from './ledger.ts'
import type { Price } from '../../base/price.ts'
import { meterNames, meters, toPriceKey } from '../../base/meters.ts'
import type { Dimensions, Meter, MeterName } from '../../base/meters.ts'

/** The local runtime's instances. Others need a runtime's offer or a price that names all dimensions. */
const knownInstances: readonly Dimensions[] = [
  { instance_type: 'local-cpu', region: 'local' },
  { instance_type: 'local-gpu', region: 'local' },
]

/** Processors accept usage of the last 35 days. */
const recentHours = 35 * 24

/** True if a meter has a separate price for usage in an hour, not only that of another meter. */
export function hasOwnPrice(
  prices: readonly Price[],
  meter: MeterName,
  dimensions: Dimensions,
  hour: Date,
): boolean {
  return prices.some((price) => price.meter === meter && isValidAt(price, hour) && matches(price, dimensions))
}

/** The price in an hour, the most specific valid one, or another meter's; `unit` is null without any. */
export function findPrice(
  prices: readonly Price[],
  meter: MeterName,
  dimensions: Dimensions,
  hour: Date,
): BucketPrice {
  const { defaultPrice }: Meter = meters[meter]
  if (defaultPrice !== undefined && !hasOwnPrice(prices, meter, dimensions, hour)) {
    return findPrice(prices, defaultPrice as MeterName, dimensions, hour)
  }
  const best = findBest(prices, meter, dimensions, hour)
  const unit = best === undefined ? null : { amount: formatDecimal(best.unitAmount), currency: best.currency }
  const priceKey = toPriceKey(meter, chooseKeyed(meter, dimensions, best), unit)
  return {
    priceKey,
    serviceKey: best?.serviceKey ?? meters[meter].serviceKey,
    displayName: best === undefined ? priceKey : fillIn(best.displayName, dimensions),
    unit,
    validFrom: best?.validFrom ?? null,
    validUntil: best?.validUntil ?? null,
  }
}

/** The most specific price. A share of a GPU costs at most its part of the price of the whole GPU. */
function findBest(
  prices: readonly Price[],
  meter: MeterName,
  dimensions: Dimensions,
  hour: Date,
): Price | undefined {
  const best = findMostSpecific(prices, meter, dimensions, hour)
  const share = parseShare(dimensions['instance_type'] ?? '')
  if (share === null) return best
  const ofGpu = { ...dimensions, instance_type: share.whole }
  const whole = findMostSpecific(prices, meter, ofGpu, hour)
  const part = whole && dividePrice(whole, share.parts)
  const isNamed = best?.dimensions['instance_type'] !== undefined
  return part === undefined || (isNamed && new Exact(best.unitAmount).lte(part.unitAmount)) ? best : part
}

/** Rounds down, so that all parts together never cost more than the whole. */
function dividePrice(whole: Price, parts: number): Price {
  const { displayName } = whole
  return {
    ...whole,
    unitAmount: new Exact(whole.unitAmount).dividedBy(parts).toDecimalPlaces(12, Exact.ROUND_DOWN).toFixed(),
    displayName: displayName.includes('{instance_type}') ? displayName : `${displayName} (1/${parts})`,
  }
}

function findMostSpecific(
  prices: readonly Price[],
  meter: MeterName,
  dimensions: Dimensions,
  hour: Date,
): Price | undefined {
  let best: Price | undefined
  for (const price of prices) {
    if (price.meter !== meter || !isValidAt(price, hour) || !matches(price, dimensions)) continue
    if (best === undefined || specificity(price) > specificity(best)) best = price
  }
  return best
}

/** The dimensions in the key of a price. */
function chooseKeyed(meter: MeterName, dimensions: Dimensions, price: Price | undefined): Dimensions {
  const { sharesPrices }: Meter = meters[meter]
  return sharesPrices === true && price !== undefined ? price.dimensions : dimensions
}

/** Throws if the processor can't charge the current prices, for any offered instance. */
export function assertChargeable(prices: readonly Price[], now: Date, max: number): void {
  const { length } = listMeteredPrices(prices, now, [], max)
  if (length <= max) return
  throw new Error(
    `The price file has ${length} prices for named models and regions and for this host, but the payment processor takes at most ${max}. Merge some, for example into one for all models.`,
  )
}

/**
 * Prices for the payment processor: those of local instances, of offered `instances`, of tokens, and of price
 * file rows with every dimension. Current prices come first (`max` never omits them), then scheduled ones,
 * then those of the last 35 days, whose usage may be unreported. Omits free usage. Throws on a duplicate key.
 */
export function listMeteredPrices(
  prices: readonly Price[],
  now: Date,
  instances: readonly Dimensions[] = [],
  max = Infinity,
): MeteredPrice[] {
  const found = new Map<string, { dimensions: string; price: MeteredPrice }>()
  for (const [index, hour] of listPriceHours(prices, now).entries()) {
    for (const [meter, combination] of listPricedUsage(prices, instances)) {
      const { priceKey, displayName, unit } = findPrice(prices, meter, combination, hour)
      const dimensions = describe(chooseKeyed(meter, combination, findBest(prices, meter, combination, hour)))
      const namesake = found.get(priceKey)
      if (namesake !== undefined && namesake.dimensions !== dimensions) {
        throw new Error(`${dimensions} and ${namesake.dimensions} would have the same price key ${priceKey}`)
      }
      if (namesake !== undefined || unit === null || Number(unit.amount) === 0) continue
      if (index > 0 && found.size >= max) continue
      found.set(priceKey, {
        dimensions,
        price: { key: priceKey, displayName, unitAmountDecimal: unit.amount, currency: unit.currency },
      })
    }
  }
  return [...found.values()].map(({ price }) => price)
}

function listPricedUsage(
  prices: readonly Price[],
  instances: readonly Dimensions[],
): [MeterName, Dimensions][] {
  return meterNames.flatMap((meter) => {
    const { dimensions, sharesPrices }: Meter = meters[meter]
    const named = prices.filter(
      (price) => price.meter === meter && (sharesPrices === true || specificity(price) === dimensions.length),
    )
    const offered = meter === 'gpu_instance_seconds' ? [...knownInstances, ...instances] : []
    return [...offered, ...named.map(({ dimensions }) => dimensions)].map(
      (combination): [MeterName, Dimensions] => [meter, combination],
    )
  })
}

/** The current hour, then those of price changes to come, then the last 35 days', the latest first. */
function listPriceHours(prices: readonly Price[], now: Date): Date[] {
  const current = floorHour(now)
  const first = addHours(current, -recentHours)
  const changes = prices
    .flatMap(({ validFrom, validUntil }) => [validFrom, validUntil ?? validFrom])
    .filter((change) => change > first)
    .toSorted((one, other) => one.getTime() - other.getTime())
  const past = changes.filter((change) => change < current)
  return [current, ...changes.filter((change) => change > current), ...past.toReversed(), first]
}

/** Whether a price is valid in the hour that begins at `hour`. */
export function isValidAt({ validFrom, validUntil }: Price, hour: Date): boolean {
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
  return text.replaceAll(/\{(\w+)\}/g, (_, name: string) => dimensions[name] ?? `any ${name.split('_')[0]}`)
}

function describe(dimensions: Dimensions): string {
  return Object.keys(dimensions)
    .toSorted()
    .map((name) => `${name}=${dimensions[name]}`)
    .join(', ')
}
