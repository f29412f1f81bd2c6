import { z } from 'zod'
import type { DeploymentUsage } from './deployment-usage.ts'

export const deploymentUsageBody = z
  .object({
    requests: z.int().describe('Answered inference requests'),
    input_tokens: z.int(),
    output_tokens: z.int(),
    instance_seconds: z.number().describe('From the start of the instance to its release, or to now'),
    cost: z.string().describe('Of all of it so far, a decimal in the main unit of `currency`; not rounded'),
    currency: z.string(),
  })
  .meta({ id: 'DeploymentUsage' })

export function toDeploymentUsageBody(usage: DeploymentUsage): z.infer<typeof deploymentUsageBody> {
  return {
    requests: usage.requests,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    instance_seconds: usage.instanceSeconds,
    cost: usage.cost,
    currency: usage.currency,
  }
}
