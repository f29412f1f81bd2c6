import type { DeploymentPlan } from '../../../console/src/contract.ts'
import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'
import { formatBytes, formatVariant } from '../base/format.ts'
import type { Output } from '../base/output.ts'
import { cleanText } from '../base/text.ts'
import { adviseOnRefusal, toDeploymentRequest } from './variant.ts'
import type { VariantOptions } from './variant.ts'

/** Shows the instance that a deployment would get, and its price. */
export async function planDeployment(
  { env, output }: Context,
  model: string,
  options: VariantOptions,
): Promise<void> {
  const client = await connectClient(env)
  const body = toDeploymentRequest(model, options)
  const plan = await client.call('POST', '/api/v1/model-deployments/plan', { body }).catch(adviseOnRefusal)
  output.result(plan, () => printPlan(output, plan))
}

function printPlan(output: Output, plan: DeploymentPlan): void {
  const { currency, memory_bytes: memory, context_tokens: context, parallel_sequences: parallel } = plan
  const price = (amount: string | null) => (amount === null ? null : `${amount} ${currency}/hour`)
  output.facts([
    ['Variant', formatVariant(plan)],
    ['Instance', plan.instance_type ?? 'none can run it'],
    ['Price', describeTokenPrices(plan) ?? price(plan.price_per_hour)],
    ['Memory', memory === null ? null : formatBytes(memory)],
    ['Context', context === null ? null : `${context} tokens`],
    ['At the same time', parallel === null ? null : `${parallel} requests`],
  ])
  output.line('')
  output.line(cleanText(plan.reason))
  if (plan.command !== null) output.line(`\n${cleanText(plan.command.join(' '))}`)
  if (plan.considered.length === 0) return
  output.line('')
  output.table(
    ['INSTANCE', 'FITS', 'PRICE', 'REASON'],
    plan.considered.map((each) => [
      each.instance_type,
      each.fits ? 'yes' : 'no',
      price(each.price_per_hour) ?? '',
      each.reason,
    ]),
  )
}

/** What the tokens of an endpoint cost; null for what has a price per hour. */
function describeTokenPrices({ token_prices: prices, currency }: DeploymentPlan): string | null {
  if (prices === null) return null
  return `${prices.input} ${currency} in, ${prices.output} ${currency} out, for a million tokens`
}
