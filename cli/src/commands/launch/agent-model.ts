import type { Model } from '../../../../console/src/contract.ts'
import { ApiError } from '../../api/client.ts'
import type { Client } from '../../api/client.ts'
import { toInput } from '../../api/find-deployment.ts'
import { CommandError } from '../../base/errors.ts'

/** Prompts of agents begin with up to 20,000 tokens. With less room, each turn would begin with a summary. */
export const agentContext = 65_536

const anyway = 'Use --force to start anyway.'
const otherModel = 'Choose another model.'

/** Throws unless an agent's tools work with a model. `abilities` are its tags or capabilities. */
export function requireTools(name: string, abilities: readonly string[]): void {
  if (abilities.includes('tools')) return
  throw new CommandError(`${name} can't call tools, which agents need. ${otherModel} ${anyway}`)
}

/** Throws if a model serves less than an agent needs. */
export async function requireContext(client: Client, model: Model): Promise<void> {
  const { id, max_model_len: context } = model
  if (context === null || context >= agentContext) return
  const advice = (await canServeAgents(client, model))
    ? `Deploy it again with --min-context ${agentContext}, or choose another model.`
    : `It can't serve more here. ${otherModel}`
  throw new CommandError(
    `${id} serves ${context} tokens, and agents need ${agentContext}. ${advice} ${anyway}`,
  )
}

/** The error of a deployment that can't have the context that agents need; others unchanged. */
export function explainRefusal(error: unknown): unknown {
  if (!(error instanceof ApiError && error.code === 'model_not_deployable')) return error
  return new CommandError(`Agents need a context of ${agentContext} tokens. ${error.message} ${anyway}`)
}

/** Whether a new deployment of the same variant could have the context that agents need. */
async function canServeAgents(client: Client, { deployments: [id] }: Model): Promise<boolean> {
  const { model_name, model_format, model_size_in_billions, quantization } = await client.call(
    'GET',
    '/api/v1/model-deployments/{deployment_id}',
    toInput(id!),
  )
  const variant = { model_name, model_format, model_size_in_billions, quantization }
  const body = { ...variant, min_context_tokens: agentContext }
  return (await client.call('POST', '/api/v1/model-deployments/plan', { body })).feasible
}
