import { z } from 'zod'
import { count, entityId, timestamp } from '../../http/schemas.ts'
import { deploymentQuery } from '../deployments/schemas.ts'
import type { DeploymentStatistics } from './get-statistics.ts'
import { windowNames } from './summarize.ts'

const window = z.enum(windowNames)

export const statisticsQuery = deploymentQuery.extend({
  window: window.default('1h').describe('The period to cover, up to now'),
})

const milliseconds = z.number().describe('Milliseconds, accurate to 4 %')

const mean = z.number().min(0)

const percentiles = z.object({ p50: milliseconds, p95: milliseconds, p99: milliseconds }).nullable()

const memberStatistics = z
  .object({
    user_id: entityId.describe('The person'),
    email: z.string().describe('Their email'),
    name: z.string().describe('Their name'),
    requests: count.describe('Finished requests that reached the engine'),
    input_tokens: count.describe('Tokens of the requests'),
    output_tokens: count.describe('Tokens of the responses'),
    waiting_ms: percentiles.describe('How long the requests waited until they were sent to the engine'),
  })
  .meta({ id: 'MemberStatistics', description: 'The requests of one person to a deployment' })

export const statisticsBody = z
  .object({
    window: window.describe('The period of the request'),
    from: timestamp.describe('Start of the period'),
    to: timestamp.describe('End of the period'),
    in_flight: count.describe('Requests currently in flight through the server process that answers'),
    requests: count.describe('Finished requests that reached the engine'),
    errors: count.describe(
      'Requests with a status of 500 or above, or cut off by the engine. Client errors do not count',
    ),
    failed_by_status: z
      .record(z.string(), count)
      .describe(
        'Requests without a complete response of the model: count per HTTP status from 400. 499: the caller left before; 502: also responses that the engine cut off',
      )
      .meta({ examples: [{ '429': 3, '502': 1 }] }),
    caller_left: count.describe(
      'Requests whose caller left before the end of the response, such as after a timeout',
    ),
    retries: count.describe(
      'Requests that a client library sent again, by its header `x-stainless-retry-count`',
    ),
    input_tokens: count.describe('Tokens of the requests'),
    output_tokens: count.describe('Tokens of the responses'),
    time_to_first_byte_ms: percentiles.describe('null if no request got a response'),
    duration_ms: percentiles.describe('null if there were no requests'),
    series: z
      .array(
        z.object({
          at: timestamp.describe('Start of the interval'),
          requests: count.describe('Finished requests'),
          errors: count.describe('Failed requests'),
          output_tokens: count.describe('Tokens of the responses'),
          duration_p50_ms: milliseconds.nullable().describe('Median; null if there were no requests'),
          duration_p95_ms: milliseconds
            .nullable()
            .describe('95th percentile; null if there were no requests'),
          instances: mean.describe('Instances that hold hardware, also while they start or end'),
          in_flight: mean.describe('Requests at engines'),
          waiting: mean.describe(
            'Requests that wait in Berth, for their turn or until the deployment is awake',
          ),
        }),
      )
      .describe(
        'One item per minute, half hour (`24h`), three hours (`7d`) or twelve hours (`30d`), without gaps. `at` is the start of the interval. `instances`, `in_flight` and `waiting` are means over it',
      ),
    members: z
      .array(memberStatistics)
      .describe(
        'Who called the deployment, those with the most requests first. The owner and admins get everybody, others only themselves',
      ),
  })
  .meta({ id: 'DeploymentStatistics', description: 'Requests, errors and durations of a deployment' })

export function toStatisticsBody(statistics: DeploymentStatistics): z.infer<typeof statisticsBody> {
  return {
    window: statistics.window,
    from: statistics.from.toISOString(),
    to: statistics.to.toISOString(),
    in_flight: statistics.inFlight,
    requests: statistics.requests,
    errors: statistics.errors,
    failed_by_status: statistics.failedByStatus,
    caller_left: statistics.callerLeft,
    retries: statistics.retries,
    input_tokens: statistics.inputTokens,
    output_tokens: statistics.outputTokens,
    time_to_first_byte_ms: statistics.firstByte,
    duration_ms: statistics.duration,
    series: statistics.series.map((step) => ({
      at: step.at.toISOString(),
      requests: step.requests,
      errors: step.errors,
      output_tokens: step.outputTokens,
      duration_p50_ms: step.durationP50,
      duration_p95_ms: step.durationP95,
      instances: step.instances,
      in_flight: step.inFlight,
      waiting: step.waiting,
    })),
    members: statistics.members.map((member) => ({
      user_id: member.userId,
      email: member.email,
      name: member.name,
      requests: member.requests,
      input_tokens: member.inputTokens,
      output_tokens: member.outputTokens,
      waiting_ms: member.waiting,
    })),
  }
}
