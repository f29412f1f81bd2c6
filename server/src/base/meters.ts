import { createHash } from 'node:crypto'

/** A metered quantity: its unit, its dimensions and its service. */
export interface Meter {
  unit: 'second' | 'token'
  dimensions: readonly string[]
  serviceKey: string
  /** The meter whose price applies to a meter without a price */
  defaultPrice?: string
  /** A price for several values of a dimension is one price at the processor, as models come and go. */
  sharesPrices?: true
}

export const meters = {
  gpu_instance_seconds: { unit: 'second', dimensions: ['instance_type', 'region'], serviceKey: 'compute' },
  inference_input_tokens: {
    unit: 'token',
    dimensions: ['model_name'],
    serviceKey: 'inference',
    sharesPrices: true,
  },
  inference_cached_tokens: {
    unit: 'token',
    dimensions: ['model_name'],
    serviceKey: 'inference',
    defaultPrice: 'inference_input_tokens',
    sharesPrices: true,
  },
  inference_output_tokens: {
    unit: 'token',
    dimensions: ['model_name'],
    serviceKey: 'inference',
    sharesPrices: true,
  },
} as const satisfies Record<string, Meter>

/** The service of what organizations pay to others, and so never to the installation */
export const endpointService = 'endpoint'

export type MeterName = keyof typeof meters

export const meterNames = Object.keys(meters) as [MeterName, ...MeterName[]]

/** Dimension values by name, e.g. `{instance_type: 'local-cpu', region: 'local'}`. */
export type Dimensions = Readonly<Record<string, string>>

const maxKeyLength = 100

/**
 * The key of a price, e.g. `gpu_instance_seconds.local-cpu.local.0.00001-usd`: the meter, the values by
 * dimension name, and the amount of `unit`, in `a-z 0-9 . _ -`. The amount is in it so that usage keeps the
 * price of its time at the payment processor too. Keys over 100 characters end in a digest.
 */
export function toPriceKey(
  meter: MeterName,
  dimensions: Dimensions,
  unit: { amount: string; currency: string } | null,
): string {
  const values = Object.keys(dimensions)
    .toSorted()
    .map((name) => dimensions[name])
  const amount = unit === null ? [] : [`${unit.amount}-${unit.currency}`]
  const key = [meter, ...values, ...amount]
    .join('.')
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]/g, '-')
  if (key.length <= maxKeyLength) return key
  const digest = createHash('sha256').update(key).digest('hex').slice(0, 16)
  return `${key.slice(0, maxKeyLength - digest.length - 1)}-${digest}`
}
