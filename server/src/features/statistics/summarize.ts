import { addBuckets, createHistogram, findQuantile } from './histogram.ts'
import type { Histogram } from './histogram.ts'
import type { HeldSpan } from '../metering/held-spans.ts'
import { meanCount } from './mean-count.ts'
import type { DeploymentTotals, Resolution } from './store.ts'

const minute = 60_000
const hour = 60 * minute

/** The windows of the API and their resolution. */
export const windows = {
  '15m': { resolution: 'minute', steps: 15, stepMilliseconds: minute },
  '1h': { resolution: 'minute', steps: 60, stepMilliseconds: minute },
  '24h': { resolution: 'minute', steps: 48, stepMilliseconds: 30 * minute },
  '7d': { resolution: 'hour', steps: 56, stepMilliseconds: 3 * hour },
  '30d': { resolution: 'hour', steps: 60, stepMilliseconds: 12 * hour },
} as const satisfies Record<string, { resolution: Resolution; steps: number; stepMilliseconds: number }>

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
  failedByStatus: Record<string, number>
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

/** Sums the window's rows from `from`, in total and per step. `spans`: the deployment held an instance. */
export function summarize(
  rows: readonly DeploymentTotals[],
  spans: readonly HeldSpan[],
  window: StatisticsWindow,
  { from, to }: { from: Date; to: Date },
): StatisticsSummary {
  const { steps, stepMilliseconds } = windows[window]
  const byStep = Map.groupBy(rows, (row) =>
    Math.floor((row.at.getTime() - from.getTime()) / stepMilliseconds),
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
  const inside = [...byStep].flatMap(([step, list]) => (step >= 0 && step < steps ? list : []))
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
  /** Count by HTTP status */
  failedByStatus: Record<string, number>
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
    failedByStatus: {},
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

function addUp(rows: readonly DeploymentTotals[]) {
  const sums = createTotals()
  for (const row of rows) {
    sums.requests += row.requests
    sums.errors += row.errors
    for (const [status, number] of Object.entries(row.failedByStatus)) countStatus(sums, status, number)
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

/** Counts requests without a complete response under their status. */
export function countStatus(
  { failedByStatus }: Pick<RequestTotals, 'failedByStatus'>,
  status: number | string,
  number: number,
): void {
  failedByStatus[status] = (failedByStatus[status] ?? 0) + number
}

/** Milliseconds; null for an empty histogram. */
export function toPercentiles(histogram: Histogram): Percentiles {
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((fraction) => findQuantile(histogram, fraction))
  return p50 == null || p95 == null || p99 == null ? null : { p50, p95, p99 }
}
