import { z } from 'zod'
import { count, timestamp } from '../../http/schemas.ts'
import type { DeploymentUse } from './summarize-deployments.ts'

export const useQuery = z.object({
  ids: z
    .preprocess(
      (value) => [value].flat().flatMap((part) => (typeof part === 'string' ? part.split(',') : part)),
      z.array(z.uuid()).min(1).max(100),
    )
    .describe('Ids of up to 100 deployments, with commas or repeated; those that you can’t see are left out'),
})

const deploymentUse = z
  .object({
    deployment_id: z.uuid().describe('Id of the deployment'),
    requests: count.describe('Finished requests that reached an engine'),
    errors: count.describe('Requests with a status of 500 or above, or cut off by the engine'),
    first_token_p95_ms: z
      .number()
      .nullable()
      .describe('95th percentile of the time to the first token, accurate to 4 %; null without requests'),
    tokens_per_second: z
      .array(z.number().min(0))
      .describe('Output tokens per second in each of the 24 hours, the present one last'),
    cost_this_month: z
      .string()
      .nullable()
      .describe(
        'In this UTC month, a decimal in `currency`; not rounded, up to a minute behind. null if you can’t see its costs',
      ),
    currency: z.string().describe('Currency of the cost'),
    last_used_at: timestamp
      .nullable()
      .describe('The minute of the last request, or its hour if that is over a day ago; null if never'),
  })
  .meta({ id: 'DeploymentUse', description: 'What a deployment did in 24 hours, and cost this month' })

export const deploymentUsesBody = z
  .object({ items: z.array(deploymentUse).describe('In the order of the request') })
  .meta({ id: 'DeploymentUses', description: 'What deployments did in 24 hours, and cost this month' })

export function toDeploymentUseBody(use: DeploymentUse, currency: string): z.infer<typeof deploymentUse> {
  return {
    deployment_id: use.deploymentId,
    requests: use.requests,
    errors: use.errors,
    first_token_p95_ms: use.firstTokenP95,
    tokens_per_second: use.tokensPerSecond,
    cost_this_month: use.costThisMonth,
    currency,
    last_used_at: use.lastUsedAt?.toISOString() ?? null,
  }
}
