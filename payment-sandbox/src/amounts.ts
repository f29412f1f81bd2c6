import { Decimal } from 'decimal.js'

/** Decimals that hold any product of a price and a quantity exactly; halves round away from zero. */
export const Exact = Decimal.clone({ precision: 100, rounding: Decimal.ROUND_HALF_UP })

/** Stripe's currencies without two decimals (docs.stripe.com/currencies). */
const unusualDigits: Record<string, number> = {
  ...Object.fromEntries(
    'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ').map((code) => [code, 0]),
  ),
  ...Object.fromEntries('bhd jod kwd omr tnd'.split(' ').map((code) => [code, 3])),
}

/** An amount in the currency's smallest unit, formatted such as `$12.34`. */
export function formatAmount(amount: number, currency: string): string {
  return format(String(amount), currency)
}

/** A price in the currency's smallest unit with all its decimals: `$0.00001` for 0.001 cents. */
export function formatUnitAmount(amount: string, currency: string): string {
  return format(amount, currency, 20)
}

function format(amount: string, currency: string, maximumFractionDigits?: number): string {
  const digits = unusualDigits[currency] ?? 2
  const main = new Exact(amount).div(new Exact(10).pow(digits)).toFixed() as `${number}`
  return new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: maximumFractionDigits ?? digits,
  }).format(main)
}
