import { Decimal } from 'decimal.js'
import type { Deployment } from '../../../console/src/contract.ts'
import { ApiError } from '../api/client.ts'
import type { Client } from '../api/client.ts'
import { toPlanRequest } from './perform.ts'
import type { Step } from './plan.ts'
import type { ReadFile } from './read-file.ts'

/** What a step costs per hour while the deployment is awake with its least instances; null if unknown. */
export interface StepPrice {
  before: string | null
  after: string | null
  currency: string
}

/** Settings that may change the price */
const pricedFields = ['min_context_tokens', 'min_parallel_sequences', 'policy.min_instances']

/** The prices of the steps that change one. Throws an error of the file for what can't be deployed. */
export async function priceSteps(
  client: Client,
  file: ReadFile,
  steps: readonly Step[],
): Promise<Map<Step, StepPrice>> {
  const prices = new Map<Step, StepPrice>()
  for (const step of steps) {
    if (step.kind !== 'deployment') continue
    if (step.action === 'change' && !step.differences.some(({ field }) => pricedFields.includes(field)))
      continue
    prices.set(step, await priceStep(client, file, step))
  }
  return prices
}

async function priceStep(
  client: Client,
  { content, fail }: ReadFile,
  step: Extract<Step, { kind: 'deployment' }>,
): Promise<StepPrice> {
  const present = step.action === 'change' || step.action === 'remove' ? step.present : step.old[0]
  const before =
    present === undefined || present.status === 'failed'
      ? null
      : await planPrice(client, toPresentRequest(present)).catch(ignoreRefusal)
  const price = { before: multiply(before?.price, present?.policy.min_instances), after: null }
  if (step.action === 'remove') return { ...price, currency: before?.currency ?? '' }
  const { wanted, path } = step
  const isYetToCome = Object.entries(content.models).some(
    ([name, { repository }]) => repository !== undefined && name.toLowerCase() === wanted.model.toLowerCase(),
  )
  const after = await planPrice(client, toPlanRequest(wanted)).catch((error: unknown) => {
    if (isYetToCome) return ignoreRefusal(error)
    throw error instanceof ApiError && error.code === 'model_not_deployable'
      ? fail([...path, 'model'], error.message)
      : error
  })
  if (after !== null && !after.feasible && step.action !== 'change') throw fail(path, after.reason)
  return {
    ...price,
    after: multiply(after?.price, wanted.policy.min_instances),
    currency: after?.currency ?? before?.currency ?? '',
  }
}

async function planPrice(client: Client, body: ReturnType<typeof toPlanRequest>) {
  const {
    feasible,
    reason,
    price_per_hour: price,
    currency,
  } = await client.call('POST', '/api/v1/model-deployments/plan', { body })
  return { feasible, reason, price, currency }
}

/** What is no longer in the catalog has no price. */
function ignoreRefusal(error: unknown): null {
  if (error instanceof ApiError && error.status < 500) return null
  throw error
}

function multiply(price: string | null | undefined, instances: number | undefined): string | null {
  if (price == null || instances === undefined) return null
  return new Decimal(price).times(instances).toFixed()
}

function toPresentRequest(present: Deployment): ReturnType<typeof toPlanRequest> {
  return {
    model_name: present.model_name,
    model_format: present.model_format,
    model_size_in_billions: present.model_size_in_billions,
    quantization: present.quantization,
    min_context_tokens: present.min_context_tokens,
    min_parallel_sequences: present.min_parallel_sequences,
    instance_type: present.requested_instance_type ?? undefined,
  }
}
