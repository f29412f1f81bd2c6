import type { Config } from '../../config/config.ts'
import type { InstanceType } from '../../ports/model-runtime.ts'
import { toInstancePrices } from './instance-prices.ts'
import type { Price } from '../../base/price.ts'
import { readPricesFile } from './prices-file.ts'

/** The prices of the price file, followed by those of the instance type file. */
export function readPrices(
  { pricesFile, billing: { currency } }: Pick<Config, 'pricesFile' | 'billing'>,
  instanceTypes: readonly InstanceType[],
): Price[] {
  return [
    ...readPricesFile(pricesFile, currency),
    ...toInstancePrices(instanceTypes, currency),
    endpointTime(currency),
  ]
}

/** What others run costs nothing by the hour. */
function endpointTime(currency: string): Price {
  return {
    meter: 'gpu_instance_seconds',
    dimensions: { instance_type: 'endpoint' },
    displayName: 'Time of endpoints',
    unitAmount: '0',
    currency,
    validFrom: new Date(0),
    validUntil: null,
  }
}
