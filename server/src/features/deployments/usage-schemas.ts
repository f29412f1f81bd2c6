import { z } from 'zod'
import { count } from '../../http/schemas.ts'
import type { DeploymentUsage } from '../metering/deployment-usage.ts'
import type { AsleepTime } from './changes/asleep-time.ts'

export const deploymentUsageBody = z
  .object({
    requests: count.describe('Answered inference requests'),
    input_tokens: count.describe('Tokens of the requests'),
    output_tokens: count.describe('Tokens of the responses'),
    instance_seconds: z
      .number()
      .describe('From the start of each instance to its release or loss, or to now while it runs'),
    cost: z.string().describe('Total cost so far, a decimal in the main unit of `currency`; not rounded'),
    currency: z.string().describe('Currency of the cost'),
    asleep_seconds: z.number().min(0).describe('How long the deployment slept so far'),
    saved: z
      .string()
      .nullable()
      .describe(
        'What its least instances would have cost while it slept, at their present price; null if that is unknown',
      ),
  })
  .meta({ id: 'DeploymentUsage', description: 'Requests, tokens and cost of a deployment so far' })

export function toDeploymentUsageBody(
  usage: DeploymentUsage,
  asleep: AsleepTime,
): z.infer<typeof deploymentUsageBody> {
  return {
    requests: usage.requests,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    instance_seconds: usage.instanceSeconds,
    cost: usage.cost,
    currency: usage.currency,
    asleep_seconds: asleep.seconds,
    saved: asleep.saved,
  }
}
