import { createHash } from 'node:crypto'

/** A metered quantity: its unit, its dimensions and its service. */
export interface Meter {
  unit: 'second' | 'token'
  dimensions: readonly string[]
  serviceKey: string
}

export const meters = {
  gpu_instance_seconds: { unit: 'second', dimensions: ['instance_type', 'region'], serviceKey: 'compute' },
  inference_input_tokens: { unit: 'token', dimensions: ['model_name'], serviceKey: 'inference' },
  inference_output_tokens: { unit: 'token', dimensions: ['model_name'], serviceKey: 'inference' },
} as const satisfies Record<string, Meter>

export type MeterName = keyof typeof meters

export const meterNames = Object.keys(meters) as [MeterName, ...MeterName[]]

/** Dimension values by name, e.g. `{instance_type: 'local-cpu', region: 'local'}`. */
export type Dimensions = Readonly<Record<string, string>>

const maxKeyLength = 100

/**
 * The key of a price, e.g. `gpu_instance_seconds.local-cpu.local`: the meter and the values, ordered by dimension name, in the
 * characters `a-z 0-9 . _ -`. Keys over 100 characters are truncated and end in a digest.
 */
export function toPriceKey(meter: MeterName, dimensions: Dimensions): string {
  const values = Object.keys(dimensions)
    .toSorted()
    .map((name) => dimensions[name])
  const key = [meter, ...values]
    .join('.')
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]/g, '-')
  if (key.length <= maxKeyLength) return key
  const digest = createHash('sha256').update(key).digest('hex').slice(0, 16)
  return `${key.slice(0, maxKeyLength - digest.length - 1)}-${digest}`
}
