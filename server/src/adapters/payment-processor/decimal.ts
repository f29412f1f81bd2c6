import { Decimal } from 'decimal.js'

/** Decimals that no product of a price and a quantity exceeds in digits; halves round away from zero. */
export const Exact = Decimal.clone({ precision: 100, rounding: Decimal.ROUND_HALF_UP })

/** Currencies without two decimals at Stripe (docs.stripe.com/currencies). */
const unusualDigits: Record<string, number> = {
  ...Object.fromEntries(
    'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ').map((code) => [code, 0]),
  ),
  ...Object.fromEntries('bhd jod kwd omr tnd'.split(' ').map((code) => [code, 3])),
}

/** How many decimals lie between a currency's main unit and its smallest one. */
export function currencyDigits(currency: string): number {
  return unusualDigits[currency] ?? 2
}

/** An amount of the smallest unit in words for people, such as `$12.34`. */
export function formatAmount(amount: number, currency: string): string {
  return format(new Exact(amount), currency, currencyDigits(currency))
}

/** A price in the smallest unit with all its decimals, such as `$0.00001` for 0.001 cents. */
export function formatUnitAmount(amount: string, currency: string): string {
  return format(new Exact(amount), currency, 20)
}

function format(amount: InstanceType<typeof Exact>, currency: string, mostDigits: number): string {
  const digits = currencyDigits(currency)
  const main = amount.div(new Exact(10).pow(digits)).toFixed() as `${number}`
  return new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: mostDigits,
  }).format(main)
}
