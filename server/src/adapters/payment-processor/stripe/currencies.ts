/** Stripe's currencies without two decimals (docs.stripe.com/currencies). */
const unusualDigits: Record<string, number> = {
  ...Object.fromEntries(
    'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ').map((code) => [code, 0]),
  ),
  ...Object.fromEntries('bhd jod kwd omr tnd'.split(' ').map((code) => [code, 3])),
}

/** The number of decimals between a currency's main unit and its smallest unit. */
export function currencyDigits(currency: string): number {
  return unusualDigits[currency] ?? 2
}
