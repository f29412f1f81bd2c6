import { setTimeout as delay } from 'node:timers/promises'
import { Agent } from 'undici'
import type { Services } from '../../services.ts'
import { findRunningPrice } from '../deployments/serving/running-price.ts'
import { countOthers } from '../statistics/count-others.ts'
import type { ModelAddress } from './ask-model.ts'
import { measureStep } from './measure.ts'
import { endBenchmark, setOtherRequests, touchBenchmark } from './store.ts'
import type { Benchmark, BenchmarkEnd } from './store.ts'
import type { BenchmarkRow } from './tables.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'prices' | 'log'>

const heartbeat = 1_000
/** Statistics are a few seconds behind. */
const statisticsDelay = 7_000

/**
 * Runs a benchmark through this process, step by step, until it is over, somebody ends it, or `closing`
 * aborts. Its requests are the caller's own: they wait in turn, and count as usage.
 */
export async function runBenchmark(
  deps: Deps,
  benchmark: Benchmark,
  caller: Omit<ModelAddress, 'dispatcher'>,
  closing: AbortSignal,
): Promise<void> {
  const { db, clock, log } = deps
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
  const ended = new AbortController()
  const signal = AbortSignal.any([ended.signal, closing])
  const rows: BenchmarkRow[] = []
  const beating = setInterval(() => {
    touchBenchmark(db, benchmark, rows)
      .then((goesOn) => goesOn || ended.abort())
      .catch((error: unknown) => log.warn({ err: error }, 'could not write the progress of a benchmark'))
  }, heartbeat)
  try {
    const end = await runSteps(deps, benchmark, { ...caller, dispatcher }, rows, signal)
    clearInterval(beating)
    await endBenchmark(db, benchmark, { ...end, rows }, clock())
    await delay(statisticsDelay, null, { signal: closing, ref: false })
    const { deployment_id: id, started_by: person, started_at: since } = benchmark
    await setOtherRequests(db, benchmark, await countOthers(deps, id, person, since))
  } catch (error) {
    if (!closing.aborted) log.error({ err: error, deployment: benchmark.deployment_id }, 'a benchmark failed')
  } finally {
    clearInterval(beating)
    await dispatcher.destroy()
  }
}

/** Adds a row for each step. */
async function runSteps(
  deps: Deps,
  { deployment_id: deploymentId, settings }: Benchmark,
  address: ModelAddress,
  rows: BenchmarkRow[],
  signal: AbortSignal,
): Promise<BenchmarkEnd> {
  for (const concurrency of settings.concurrency) {
    const pricePerHour = await findRunningPrice(deps, deploymentId)
    const step = { address, deploymentId, settings, concurrency, pricePerHour }
    const { row, error } = await measureStep(step, signal)
    if (signal.aborted) return { status: 'interrupted' }
    rows.push(row)
    if (row.requests === 0) return { status: 'failed', error: error ?? 'No request was answered in time.' }
  }
  return { status: 'finished' }
}
