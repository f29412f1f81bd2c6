import { setTimeout as delay } from 'node:timers/promises'
import { Agent } from 'undici'
import { Exact } from '../../base/decimal.ts'
import type { Services } from '../../services.ts'
import { listLiveInstances } from '../deployments/state/instance-store.ts'
import { findHourlyPrice } from '../metering/instance-prices.ts'
import { sumCallers } from '../statistics/caller-store.ts'
import type { ModelAddress } from './ask-model.ts'
import { measureStep } from './measure.ts'
import { endBenchmark, setOtherRequests, touchBenchmark } from './store.ts'
import type { Benchmark } from './store.ts'
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
    const result = await runSteps(deps, benchmark, { ...caller, dispatcher }, rows, signal)
    await touchBenchmark(db, benchmark, rows)
    await endBenchmark(db, benchmark, result, clock())
    await delay(statisticsDelay, null, { signal: closing, ref: false })
    await setOtherRequests(db, benchmark, await countOthers(deps, benchmark))
  } catch (error) {
    if (!closing.aborted) log.error({ err: error, deployment: benchmark.deployment_id }, 'a benchmark failed')
  } finally {
    clearInterval(beating)
    await dispatcher.destroy()
  }
}

type Result = Parameters<typeof endBenchmark>[2]

/** Adds a row for each step. */
async function runSteps(
  deps: Deps,
  { deployment_id: deploymentId, settings }: Benchmark,
  address: ModelAddress,
  rows: BenchmarkRow[],
  signal: AbortSignal,
): Promise<Result> {
  for (const concurrency of settings.concurrency) {
    const pricePerHour = await findPrice(deps, deploymentId)
    const step = { address, deploymentId, settings, concurrency, pricePerHour }
    const { row, error } = await measureStep(step, signal)
    if (signal.aborted) return { status: 'interrupted' }
    rows.push(row)
    if (row.requests === 0) return { status: 'failed', error: error ?? 'No request was answered in time.' }
  }
  return { status: 'finished' }
}

/** What the running instances cost in an hour now. */
async function findPrice({ db, clock, prices }: Deps, deploymentId: string): Promise<string | null> {
  const instances = (await listLiveInstances(db, [deploymentId])).get(deploymentId) ?? []
  const each = instances
    .filter(({ status }) => status === 'running')
    .map(({ instance_type: instanceType, region }) =>
      findHourlyPrice(prices, { instanceType: instanceType!, region: region! }, clock()),
    )
  return each.includes(null) ? null : Exact.sum(0, ...each.map(String)).toFixed()
}

/** The requests of others to the deployment since the benchmark began, by whole minutes. */
async function countOthers({ db }: Deps, benchmark: Benchmark): Promise<number> {
  const from = new Date(Math.floor(benchmark.started_at.getTime() / 60_000) * 60_000)
  const callers = await sumCallers(db, 'minute', benchmark.deployment_id, from, null)
  const others = callers.filter(({ userId }) => userId !== benchmark.started_by)
  return others.reduce((total, { requests }) => total + requests, 0)
}
