import type { Config } from '../../config.ts'
import type { InstanceType } from '../../ports/model-runtime.ts'
import { toInstancePrices } from './instance-prices.ts'
import type { Price } from './prices.ts'
import { readPricesFile } from './prices-file.ts'

/** What the price file says, and for instances that it does not name what the instance type file says. */
export function readPrices(
  { pricesFile, billing: { currency } }: Pick<Config, 'pricesFile' | 'billing'>,
  instanceTypes: readonly InstanceType[],
): Price[] {
  return [...readPricesFile(pricesFile, currency), ...toInstancePrices(instanceTypes, currency)]
}
