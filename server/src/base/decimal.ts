import { Decimal } from 'decimal.js'

/** Enough digits for the exact product of any price and quantity. */
export const Exact = Decimal.clone({ precision: 100 })

/** A decimal in the API's format: no exponent and no trailing zeros, e.g. `12.345` and `0`. */
export function formatDecimal(value: string | Decimal): string {
  return new Exact(value).toFixed()
}

export function multiply(one: string, other: string): string {
  return new Exact(one).times(other).toFixed()
}

export function add(one: string, other: string): string {
  return new Exact(one).plus(other).toFixed()
}

export function subtract(one: string, other: string): string {
  return new Exact(one).minus(other).toFixed()
}

/** A whole number of thousandths as a decimal, e.g. 12345 as `12.345`. */
export function fromThousandths(thousandths: number): string {
  return new Exact(thousandths).dividedBy(1000).toFixed()
}
