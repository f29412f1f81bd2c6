import type { InstanceOffer, InstanceType } from '../../ports/model-runtime.ts'
import { Exact } from '../../base/decimal.ts'
import { parseShare } from '../../base/gpu-share.ts'
import { floorHour } from './hours.ts'
import { findPrice } from './prices.ts'
import type { Price } from '../../base/price.ts'

const secondsPerHour = 3600

/** Prices per second with 12 decimals, by instance type only: price file rows with a region go first. */
export function toInstancePrices(types: readonly InstanceType[], currency: string): Price[] {
  return types.map(({ name, pricePerHour }) => ({
    meter: 'gpu_instance_seconds',
    dimensions: { instance_type: name },
    displayName: '{instance_type} in {region}',
    unitAmount: new Exact(pricePerHour).dividedBy(secondsPerHour).toDecimalPlaces(12).toFixed(),
    currency,
    validFrom: new Date(0),
    validUntil: null,
  }))
}

/** The cost of these seconds at a moment's price, a decimal string; null without a valid price. */
export function findHeldCost(
  prices: readonly Price[],
  offer: Pick<InstanceOffer, 'instanceType' | 'region'>,
  seconds: number,
  at: Date,
): string | null {
  const perHour = findHourlyPrice(prices, offer, at)
  return perHour && new Exact(perHour).times(seconds).dividedBy(secondsPerHour).toDecimalPlaces(8).toFixed()
}

/** The hourly price at a moment in the main unit, or null. Eight decimals: others are rounding errors. */
export function findHourlyPrice(
  prices: readonly Price[],
  { instanceType, region }: Pick<InstanceOffer, 'instanceType' | 'region'>,
  at: Date,
): string | null {
  const dimensions = { instance_type: instanceType, region }
  const { unit } = findPrice(prices, 'gpu_instance_seconds', dimensions, floorHour(at))
  const perHour = unit && new Exact(unit.amount).times(secondsPerHour).toDecimalPlaces(8)
  const share = parseShare(instanceType)
  if (perHour === null || share === null) return perHour?.toFixed() ?? null
  // Rounding up would show shares that cost more than their GPU.
  const ofGpu = findHourlyPrice(prices, { instanceType: share.whole, region }, at) ?? 0
  const most = new Exact(ofGpu).dividedBy(share.parts).toDecimalPlaces(8, Exact.ROUND_DOWN)
  return Exact.min(perHour, most).toFixed()
}
