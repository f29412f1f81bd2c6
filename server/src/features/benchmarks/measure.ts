import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Exact } from '../../base/decimal.ts'
import { askModel } from './ask-model.ts'
import type { ModelAddress, Sample } from './ask-model.ts'
import type { BenchmarkRow, BenchmarkSettings, Quantiles } from './tables.ts'

/** Common words, most of them one token */
const words = 'time year people way day man thing woman life child world school state family student group'
  .split(' ')
  .concat('country problem hand part place case week company system program question work number'.split(' '))

/** A prompt of about so many tokens. No two begin alike, so that no engine knows it. */
export function writePrompt(tokens: number): string {
  return Array.from({ length: tokens }, () => words[randomInt(words.length)]).join(' ')
}

const errorPause = 250
const patience = 60_000

/** What one step sends where. */
export interface Step {
  address: ModelAddress
  deploymentId: string
  settings: BenchmarkSettings
  concurrency: number
  /** What the running instances cost in an hour; null without prices */
  pricePerHour: string | null
}

/** Keeps so many requests in flight for `seconds`, and waits up to a minute longer for their responses. */
export async function measureStep(
  { address, deploymentId, settings, concurrency, pricePerHour }: Step,
  signal: AbortSignal,
): Promise<{ row: BenchmarkRow; error: string | null }> {
  const samples: Sample[] = []
  const errors: Record<string, number> = {}
  let error: string | null = null
  const began = performance.now()
  const ends = began + settings.seconds * 1_000
  const late = AbortSignal.any([signal, AbortSignal.timeout(settings.seconds * 1_000 + patience)])
  let answeredAt = began
  const keepAsking = async () => {
    while (performance.now() < ends && !signal.aborted) {
      const text = writePrompt(settings.prompt_tokens)
      const prompt = { deploymentId, text, outputTokens: settings.output_tokens }
      const result = await askModel(address, prompt, late)
      if (signal.aborted) return
      if ('code' in result) {
        errors[result.code] = (errors[result.code] ?? 0) + 1
        error ??= result.message
        await delay(errorPause)
      } else {
        samples.push(result)
        answeredAt = performance.now()
      }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, keepAsking))
  const seconds = (answeredAt - began) / 1_000
  const sum = (pick: (sample: Sample) => number) => samples.reduce((total, each) => total + pick(each), 0)
  const [input, output] = [sum((each) => each.inputTokens), sum((each) => each.outputTokens)]
  const row: BenchmarkRow = {
    concurrency,
    seconds: round(seconds),
    requests: samples.length,
    requests_per_second: perSecond(samples.length, seconds),
    input_tokens: input,
    output_tokens: output,
    output_tokens_per_second: perSecond(output, seconds),
    time_to_first_token_ms: findQuantiles(samples.map((each) => each.firstToken)),
    time_per_token_ms: findQuantiles(samples.flatMap((each) => each.perToken ?? [])),
    errors,
    cost_per_million_tokens: findCost(pricePerHour, seconds, input + output),
  }
  return { row, error }
}

const round = (value: number) => Number(value.toPrecision(4))
const perSecond = (count: number, seconds: number) => (seconds === 0 ? 0 : round(count / seconds))

/** By nearest rank; null without values. */
export function findQuantiles(values: readonly number[]): Quantiles | null {
  const sorted = values.toSorted((one, other) => one - other)
  const at = (quantile: number) => round(sorted[Math.ceil(quantile * sorted.length) - 1]!)
  return sorted.length === 0 ? null : { p50: at(0.5), p95: at(0.95) }
}

function findCost(pricePerHour: string | null, seconds: number, tokens: number): string | null {
  if (pricePerHour === null || tokens === 0) return null
  const cost = new Exact(pricePerHour).times(seconds).dividedBy(3_600)
  return cost.times(1_000_000).dividedBy(tokens).toDecimalPlaces(6).toFixed()
}
