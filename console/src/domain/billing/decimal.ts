/** Sums of decimal strings without the error of binary fractions. */

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

/** The exact sum of decimal strings such as `0.00001`; `0` of none. */
export function sumDecimals(decimals: readonly string[]): string {
  const parts = decimals.map(parse)
  const scale = Math.max(0, ...parts.map((part) => part.scale))
  const units = parts.reduce((sum, part) => sum + part.units * 10n ** BigInt(scale - part.scale), 0n)
  return format({ units, scale })
}

/** A decimal string times a whole number, exactly. */
export function multiplyDecimal(decimal: string, factor: number): string {
  const { units, scale } = parse(decimal)
  return format({ units: units * BigInt(factor), scale })
}
