/** The decimals of currencies that don't have two, as in docs/proof.md. */
const unusualDigits = new Map(
  Object.entries({
    0: 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf',
    3: 'bhd jod kwd omr tnd',
  }).flatMap(([digits, codes]) => codes.split(' ').map((code) => [code, Number(digits)])),
)

/** The number of decimals of the amounts on an invoice. */
export function currencyDigits(currency: string): number {
  return unusualDigits.get(currency) ?? 2
}
