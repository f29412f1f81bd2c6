import { createHash } from 'node:crypto'

/** What is measured: in which unit, told apart by which dimensions, for which service. */
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

/** Values by the names of dimensions, e.g. `{instance_type: 'local-cpu', region: 'local'}`. */
export type Dimensions = Readonly<Record<string, string>>

const longestKey = 100

/**
 * The name of a concrete price, e.g. `gpu_instance_seconds.local-cpu.local`: the meter and the values in the order of their
 * dimensions' names, of `a-z 0-9 . _ -` alone. What is over 100 characters ends in a digest instead.
 */
export function toPriceKey(meter: MeterName, dimensions: Dimensions): string {
  const values = Object.keys(dimensions)
    .toSorted()
    .map((name) => dimensions[name])
  const key = [meter, ...values]
    .join('.')
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]/g, '-')
  if (key.length <= longestKey) return key
  const digest = createHash('sha256').update(key).digest('hex').slice(0, 16)
  return `${key.slice(0, longestKey - digest.length - 1)}-${digest}`
}
