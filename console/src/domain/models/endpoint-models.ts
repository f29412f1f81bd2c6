import type { Placement } from '../../contract.ts'
import { formatMoney } from '../../format.ts'
import { text } from '../../text/index.ts'

/** Whether a server that Berth does not run has the model. */
export const isOfEndpoint = ({ model_format: format }: { model_format: string }) => format === 'endpoint'

/** The cost of a million tokens; null without prices. */
export function writeTokenPrices(prices: Placement['token_prices'], currency: string): string | null {
  if (prices === null) return null
  return text.variants.perMillion(formatMoney(prices.input, currency), formatMoney(prices.output, currency))
}
