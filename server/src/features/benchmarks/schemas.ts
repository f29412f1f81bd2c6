import { z } from 'zod'
import { count, entityId, timestamp } from '../../http/schemas.ts'
import { deploymentParams } from '../deployments/schemas.ts'
import type { Benchmark } from './store.ts'
import { benchmarkStatuses } from './tables.ts'

export const benchmarkParams = deploymentParams.extend({
  number: z.coerce.number().int().min(1).max(2_147_483_647).describe('Number of a benchmark'),
})

const promptTokens = z
  .int()
  .min(1)
  .max(131_072)
  .describe('The length of each prompt; the rows have what was counted')
const outputTokens = z.int().min(1).max(8_192).describe('The length of each response')
const concurrency = z
  .array(z.int().min(1).max(256))
  .min(1)
  .max(8)
  .describe('How many requests run at the same time, step by step')
const seconds = z.int().min(1).max(120).describe('For how long each step starts requests')

export const benchmarkInput = z
  .object({
    prompt_tokens: promptTokens.default(256),
    output_tokens: outputTokens.default(128),
    concurrency: concurrency.default([1, 4, 16, 64]),
    seconds: seconds.default(20),
  })
  .meta({ id: 'BenchmarkRequest', examples: [{ concurrency: [1, 4], seconds: 10 }] })

const quantiles = z
  .object({ p50: z.number().describe('The median'), p95: z.number().describe('The 95th percentile') })
  .nullable()

const row = z.object({
  concurrency: count.describe('Requests at the same time'),
  seconds: z.number().describe('From the first request to the last response'),
  requests: count.describe('The answered ones'),
  requests_per_second: z.number().describe('Of the answered ones'),
  input_tokens: count.describe('Of all prompts, as the engine counted them'),
  output_tokens: count.describe('Of all responses, as the engine counted them'),
  output_tokens_per_second: z.number().describe('Of all requests together'),
  time_to_first_token_ms: quantiles.describe('null without an answered request'),
  time_per_token_ms: quantiles.describe('Between two tokens of a response; null if none had two'),
  errors: z.record(z.string(), count).describe('How many requests failed, by code'),
  cost_per_million_tokens: z
    .string()
    .nullable()
    .describe(
      'The price of the running instances for a million tokens of prompts and responses; null without a price',
    ),
})

export const benchmarkBody = z
  .object({
    number: count.describe('Counts the benchmarks of the deployment, from 1'),
    status: z
      .enum(benchmarkStatuses)
      .describe('`interrupted`: its server process ended. `failed`: a step got no answer; `error` says why'),
    prompt_tokens: promptTokens,
    output_tokens: outputTokens,
    concurrency,
    seconds,
    rows: z.array(row).describe('One for each step that is over'),
    other_requests: count
      .nullable()
      .describe('Requests of other callers in the same minutes; null until some seconds after the end'),
    error: z.string().nullable().describe('The first error of the step that got no answer'),
    started_by: entityId.describe('Id of the user'),
    started_at: timestamp.describe('When the first step began'),
    ended_at: timestamp.nullable().describe('null while it runs'),
  })
  .meta({ id: 'Benchmark', description: 'What a running deployment was measured to do' })

export const benchmarksBody = z
  .object({
    items: z.array(benchmarkBody).describe('Newest first; the last 20 are kept'),
    currency: z
      .string()
      .describe('Of `cost_per_million_tokens`')
      .meta({ examples: ['usd'] }),
  })
  .meta({ id: 'Benchmarks', description: 'The benchmarks of a deployment' })

export function toBenchmarkBody(benchmark: Benchmark): z.infer<typeof benchmarkBody> {
  const { number, status, settings, rows, error } = benchmark
  return {
    number,
    status,
    ...settings,
    rows,
    other_requests: benchmark.other_requests,
    error,
    started_by: benchmark.started_by,
    started_at: benchmark.started_at.toISOString(),
    ended_at: benchmark.ended_at?.toISOString() ?? null,
  }
}
