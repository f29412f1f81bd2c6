/** The constraints of a JSON Schema on a number. */
export interface NumberLimits {
  integer: boolean
  minimum?: number | undefined
  exclusiveMinimum?: number | undefined
  maximum?: number | undefined
  exclusiveMaximum?: number | undefined
  multipleOf?: number | undefined
}

/** Limits that no grammar expresses; the message names the keyword. */
export class NumberLimitsError extends Error {}

/** A decimal number: `digits / 10 ** scale`. */
export interface Decimal {
  digits: bigint
  scale: number
}

/** A bound of a range. */
export interface Bound extends Decimal {
  exclusive: boolean
}

/** One end of a range of decimals with a common scale. */
export interface End {
  digits: bigint
  exclusive: boolean
}

/** The lower bound, or null without one. Throws a NumberLimitsError. */
export function findLowest({ minimum, exclusiveMinimum }: NumberLimits): Bound | null {
  if (exclusiveMinimum !== undefined && exclusiveMinimum >= (minimum ?? -Infinity)) {
    return { ...toDecimal(exclusiveMinimum), exclusive: true }
  }
  return minimum === undefined ? null : { ...toDecimal(minimum), exclusive: false }
}

/** The upper bound, or null without one. Throws a NumberLimitsError. */
export function findHighest({ maximum, exclusiveMaximum }: NumberLimits): Bound | null {
  if (exclusiveMaximum !== undefined && exclusiveMaximum <= (maximum ?? Infinity)) {
    return { ...toDecimal(exclusiveMaximum), exclusive: true }
  }
  return maximum === undefined ? null : { ...toDecimal(maximum), exclusive: false }
}

/** The shortest decimal that identifies the number. Throws a NumberLimitsError. */
export function toDecimal(value: number): Decimal {
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e')
  const decimals = mantissa.split('.')[1]?.length ?? 0
  const digits = BigInt(mantissa.replace('.', ''))
  const scale = decimals - Number(exponent)
  if (scale > 30) throw new NumberLimitsError('a bound has more than 30 decimals')
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale }
}

/** Writes a non-negative decimal. */
export function writeDecimal(digits: string, scale: number): string {
  if (scale === 0) return digits
  const padded = digits.padStart(scale + 1, '0')
  return `${padded.slice(0, -scale)}.${padded.slice(-scale)}`
}

/** The inclusive bounds of a range at another scale. */
export function rescale(from: End, to: End, scale: number, target: number): [low: bigint, high: bigint] {
  const low = from.digits + (from.exclusive ? 1n : 0n)
  const high = to.digits - (to.exclusive ? 1n : 0n)
  const factor = 10n ** BigInt(Math.abs(scale - target))
  if (target > scale) {
    return [from.digits * factor + (from.exclusive ? 1n : 0n), to.digits * factor - (to.exclusive ? 1n : 0n)]
  }
  return [(low + factor - 1n) / factor, high < 0n ? -1n : high / factor]
}
