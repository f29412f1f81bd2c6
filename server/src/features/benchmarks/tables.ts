import type { JSONColumnType } from 'kysely'

declare module '../../database/tables.ts' {
  interface Tables {
    benchmarks: BenchmarksTable
  }
}

/** `interrupted`: its server process ended. `failed`: no request of a step was answered. */
export const benchmarkStatuses = ['running', 'finished', 'stopped', 'failed', 'interrupted'] as const

export type BenchmarkStatus = (typeof benchmarkStatuses)[number]

/** What a benchmark sends. */
export interface BenchmarkSettings {
  prompt_tokens: number
  output_tokens: number
  /** How many requests run at the same time, step by step */
  concurrency: number[]
  /** For how long each step starts requests */
  seconds: number
}

/** The median and the 95th percentile, in milliseconds. */
export interface Quantiles {
  p50: number
  p95: number
}

/** What one step measured. */
export interface BenchmarkRow {
  concurrency: number
  /** From the first request to the last response */
  seconds: number
  /** The answered ones */
  requests: number
  requests_per_second: number
  input_tokens: number
  output_tokens: number
  output_tokens_per_second: number
  /** null without an answered request */
  time_to_first_token_ms: Quantiles | null
  /** Between two tokens of a response; null if none had two */
  time_per_token_ms: Quantiles | null
  /** How many requests failed, by code */
  errors: Record<string, number>
  /** The price of the running instances for each million tokens; null without a price or an answer */
  cost_per_million_tokens: string | null
}

export interface BenchmarksTable {
  deployment_id: string
  number: number
  started_by: number
  status: BenchmarkStatus
  settings: JSONColumnType<BenchmarkSettings>
  rows: JSONColumnType<BenchmarkRow[], string | undefined>
  /** Requests to the deployment by others meanwhile; null while it runs */
  other_requests: number | null
  /** Why it failed, one sentence; null if it did not */
  error: string | null
  started_at: Date
  ended_at: Date | null
  /** When its process last wrote */
  seen_at: Date
}
