/** Exact arithmetic on decimal strings. */

/** A decimal is `units / 10 ** scale`. */
interface Scaled {
  units: bigint
  scale: number
}

function parse(decimal: string): Scaled {
  const [whole = '0', fraction = ''] = decimal.split('.')
  return { units: BigInt(whole + fraction), scale: fraction.length }
}

function format({ units, scale }: Scaled): string {
  const sign = units < 0n ? '-' : ''
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '')
  return sign + whole + (fraction && `.${fraction}`)
}

/** Adds decimal strings such as `0.00001`; the sum of an empty list is `0`. */
export function sumDecimals(decimals: readonly string[]): string {
  const parts = decimals.map(parse)
  const scale = Math.max(0, ...parts.map((part) => part.scale))
  const units = parts.reduce((sum, part) => sum + part.units * 10n ** BigInt(scale - part.scale), 0n)
  return format({ units, scale })
}

/** Multiplies a decimal string by an integer. */
export function multiplyDecimal(decimal: string, factor: number): string {
  const { units, scale } = parse(decimal)
  return format({ units: units * BigInt(factor), scale })
}
