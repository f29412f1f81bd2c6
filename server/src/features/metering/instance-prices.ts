import { Decimal } from 'decimal.js'
import type { InstanceOffer, InstanceType } from '../../ports/model-runtime.ts'
import { floorHour } from './hours.ts'
import { findPrice } from './prices.ts'
import type { Price } from './prices.ts'

const Exact = Decimal.clone({ precision: 100 })
const secondsPerHour = 3600

/**
 * The prices of the instance type file as prices of a second, to 12 decimals as the price file has them. They name the instance
 * type alone, so a price of the price file that names the region too goes before them.
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
 * What an hour of an instance costs at a moment, a decimal string in the currency's main unit; null where no price is valid. Eight
 * decimals are shown: more than that is the rounding of a second's price.
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
