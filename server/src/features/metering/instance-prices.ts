import type { InstanceOffer, InstanceType } from '../../ports/model-runtime.ts'
import { Exact } from '../../base/decimal.ts'
import { floorHour } from './hours.ts'
import { findPrice } from './prices.ts'
import type { Price } from '../../base/price.ts'

const secondsPerHour = 3600

/**
 * Converts the hourly prices of the instance type file to prices per second with 12 decimals. They name only
 * the instance type, so a price with a region in the price file takes precedence.
 */
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

/**
 * What so many seconds of an instance cost at the price of a moment, a decimal string; null when no price is
 * valid.
 */
export function findHeldCost(
  prices: readonly Price[],
  offer: Pick<InstanceOffer, 'instanceType' | 'region'>,
  seconds: number,
  at: Date,
): string | null {
  const perHour = findHourlyPrice(prices, offer, at)
  return perHour && new Exact(perHour).times(seconds).dividedBy(secondsPerHour).toDecimalPlaces(8).toFixed()
}

/**
 * The hourly price of an instance at a moment, a decimal string in the currency's main unit; null when no
 * price is valid. Rounded to eight decimals, because the following digits are rounding errors of the price
 * per second.
 */
export function findHourlyPrice(
  prices: readonly Price[],
  { instanceType, region }: Pick<InstanceOffer, 'instanceType' | 'region'>,
  at: Date,
): string | null {
  const dimensions = { instance_type: instanceType, region }
  const { unit } = findPrice(prices, 'gpu_instance_seconds', dimensions, floorHour(at))
  return unit && new Exact(unit.amount).times(secondsPerHour).toDecimalPlaces(8).toFixed()
}
