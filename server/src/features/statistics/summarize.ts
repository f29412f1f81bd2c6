import { addBuckets, createHistogram, findQuantile } from './histogram.ts'
import type { Histogram } from './histogram.ts'
import type { HeldSpan } from '../metering/held-spans.ts'
import { meanCount } from './mean-count.ts'
import type { DeploymentMinute } from './store.ts'

const minute = 60_000

/** The windows of the API and their resolution. */
export const windows = {
  '15m': { steps: 15, stepMilliseconds: minute },
  '1h': { steps: 60, stepMilliseconds: minute },
  '24h': { steps: 48, stepMilliseconds: 30 * minute },
} as const satisfies Record<string, { steps: number; stepMilliseconds: number }>

export type StatisticsWindow = keyof typeof windows

export const windowNames = Object.keys(windows) as [StatisticsWindow, ...StatisticsWindow[]]

/** Milliseconds; null without requests. */
export type Percentiles = { p50: number; p95: number; p99: number } | null

export interface StatisticsStep {
  at: Date
  requests: number
  errors: number
  outputTokens: number
  durationP50: number | null
  durationP95: number | null
  /** Mean numbers of requests at engines, and of those that wait in Berth */
  inFlight: number
  waiting: number
  /** Mean number of instances */
  instances: number
}

export interface StatisticsSummary {
  requests: number
  errors: number
  callerLeft: number
  retries: number
  inputTokens: number
  outputTokens: number
  firstByte: Percentiles
  duration: Percentiles
  /** Every step of the window in order, including empty ones */
  series: StatisticsStep[]
}

/** The start of a window whose last step contains `now`. */
export function findWindowStart(window: StatisticsWindow, now: Date): Date {
  const { steps, stepMilliseconds } = windows[window]
  const lastStep = Math.floor(now.getTime() / stepMilliseconds) * stepMilliseconds
  return new Date(lastStep - (steps - 1) * stepMilliseconds)
}

/** Sums the window's minutes from `from`, in total and per step. `spans`: the deployment held an instance. */
export function summarizeMinutes(
  minutes: readonly DeploymentMinute[],
  spans: readonly HeldSpan[],
  window: StatisticsWindow,
  { from, to }: { from: Date; to: Date },
): StatisticsSummary {
  const { steps, stepMilliseconds } = windows[window]
  const byStep = Map.groupBy(minutes, (row) =>
    Math.floor((row.minute.getTime() - from.getTime()) / stepMilliseconds),
  )
  const series = Array.from({ length: steps }, (_, step) => {
    const sums = addUp(byStep.get(step) ?? [])
    const begin = from.getTime() + step * stepMilliseconds
    // The last step is not over yet.
    const end = Math.min(begin + stepMilliseconds, Math.max(to.getTime(), begin + 1_000))
    const toMean = (seconds: number) => roundMean((seconds * 1_000) / (end - begin))
    return {
      at: new Date(begin),
      requests: sums.requests,
      errors: sums.errors,
      outputTokens: sums.outputTokens,
      durationP50: findQuantile(sums.duration, 0.5),
      durationP95: findQuantile(sums.duration, 0.95),
      inFlight: toMean(sums.inFlightSeconds),
      waiting: toMean(sums.waitingSeconds),
      instances: roundMean(meanCount(spans, begin, end)),
    }
  })
  const inside = [...byStep].flatMap(([step, rows]) => (step >= 0 && step < steps ? rows : []))
  const { duration, firstByte, inFlightSeconds: _, waitingSeconds: __, ...totals } = addUp(inside)
  return {
    ...totals,
    firstByte: toPercentiles(firstByte),
    duration: toPercentiles(duration),
    series,
  }
}

const roundMean = (mean: number) => Math.round(mean * 1_000) / 1_000

/** Totals over a number of requests, and the load. */
export interface RequestTotals {
  requests: number
  errors: number
  callerLeft: number
  retries: number
  inputTokens: number
  outputTokens: number
  inFlightSeconds: number
  waitingSeconds: number
  firstByte: Histogram
  duration: Histogram
}

export function createTotals(): RequestTotals {
  return {
    requests: 0,
    errors: 0,
    callerLeft: 0,
    retries: 0,
    inputTokens: 0,
    outputTokens: 0,
    inFlightSeconds: 0,
    waitingSeconds: 0,
    firstByte: createHistogram(),
    duration: createHistogram(),
  }
}

function addUp(rows: readonly DeploymentMinute[]) {
  const sums = createTotals()
  for (const row of rows) {
    sums.requests += row.requests
    sums.errors += row.errors
    sums.callerLeft += row.callerLeft
    sums.retries += row.retries
    sums.inputTokens += row.inputTokens
    sums.outputTokens += row.outputTokens
    sums.inFlightSeconds += row.inFlightSeconds
    sums.waitingSeconds += row.waitingSeconds
    addBuckets(sums.firstByte, row.firstByteBuckets)
    addBuckets(sums.duration, row.durationBuckets)
  }
  return sums
}

/** Milliseconds; null for an empty histogram. */
export function toPercentiles(histogram: Histogram): Percentiles {
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((fraction) => findQuantile(histogram, fraction))
  return p50 == null || p95 == null || p99 == null ? null : { p50, p95, p99 }
}
