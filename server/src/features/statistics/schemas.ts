import { z } from 'zod'
import { timestamp } from '../../http/schemas.ts'
import type { DeploymentStatistics } from './get.ts'
import { windowNames } from './summarize.ts'

const window = z.enum(windowNames)

export const statisticsQuery = z.object({
  window: window.default('1h').describe('How far back it looks'),
})

const milliseconds = z.number().describe('Milliseconds, to within 4 %')

const percentiles = z.object({ p50: milliseconds, p95: milliseconds, p99: milliseconds }).nullable()

export const statisticsBody = z
  .object({
    window,
    from: timestamp,
    to: timestamp,
    in_flight: z
      .int()
      .describe(
        'Requests that the engine works on now, of those that came to the server process that answers this',
      ),
    requests: z.int().describe('Requests that were sent to the engine and have ended'),
    errors: z
      .int()
      .describe(
        'Those that were answered 500 or above, or that the engine broke off; not what a caller did wrong',
      ),
    input_tokens: z.int(),
    output_tokens: z.int(),
    time_to_first_byte_ms: percentiles.describe('null without an answer'),
    duration_ms: percentiles.describe('null without a request'),
    series: z
      .array(
        z.object({
          at: timestamp,
          requests: z.int(),
          errors: z.int(),
          output_tokens: z.int(),
          duration_p50_ms: milliseconds.nullable(),
          duration_p95_ms: milliseconds.nullable(),
        }),
      )
      .describe(
        'By the minute, in a window of 24 hours by the half hour; `at` is where each begins, and none is left out',
      ),
  })
  .meta({ id: 'DeploymentStatistics' })

export function toStatisticsBody(statistics: DeploymentStatistics): z.infer<typeof statisticsBody> {
  return {
    window: statistics.window,
    from: statistics.from.toISOString(),
    to: statistics.to.toISOString(),
    in_flight: statistics.inFlight,
    requests: statistics.requests,
    errors: statistics.errors,
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
    })),
  }
}
