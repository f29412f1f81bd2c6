import { setTimeout as delay } from 'node:timers/promises'
import { connectDatabase } from '../../src/database/connect.ts'
import { checkLedger, checkUsage } from '../../src/features/metering/checks.ts'
import { createLog } from '../../src/base/log.ts'
import type { Client } from '../support/client.ts'
import type { Backend, Holding } from './components.ts'

/** What a backend held at a moment. */
interface Sample {
  at: number
  holdings: Holding[]
}

/** Asks the backend again and again what it holds, independently of Berth. */
export function startSampling(backend: Backend, intervalMs = 500) {
  const samples: Sample[] = []
  const stop = new AbortController()
  const sampling = (async () => {
    while (!stop.signal.aborted) {
      const at = Date.now()
      const holdings = await backend.observe().catch(() => null)
      if (holdings !== null) samples.push({ at, holdings })
      await delay(intervalMs, undefined, { signal: stop.signal }).catch(() => {})
    }
  })()
  return {
    samples,
    async stop() {
      stop.abort()
      await sampling
    },
  }
}

/** A billed interval of a deployment in milliseconds. */
export interface BilledSpan {
  engineId: string
  from: number
  /** Infinity while it is open */
  to: number
  /**
   * When the owner deleted the deployment. From then on the span lasts until the backend confirms the
   * release.
   */
  deletedAt: number
}

export interface UsageComparison {
  /** Seconds with an engine, and those of them that the ledger has */
  servedSeconds: number
  /** One line for each difference longer than the tolerance */
  differences: string[]
}

/**
 * Compares billed intervals with what the backend held: at every sample in an interval it held something for
 * the deployment, and whenever it served, there was an interval. Shorter differences than the tolerance don't
 * count, and neither does the time that a release takes.
 */
export function compareUsage(
  spans: readonly BilledSpan[],
  samples: readonly Sample[],
  toleranceMs: number,
): UsageComparison {
  const differences: string[] = []
  let servedSeconds = 0
  const ids = new Set([
    ...spans.map(({ engineId }) => engineId),
    ...samples.flatMap(({ holdings }) => holdings.map(({ engineId }) => engineId)),
  ])
  for (const id of ids) {
    const own = spans.filter(({ engineId }) => engineId === id)
    const find = (sample: Sample) => sample.holdings.find(({ engineId }) => engineId === id)
    const isBilled = ({ at }: Sample) => own.some(({ from, to }) => at >= from && at <= to)
    const isDeleted = ({ at }: Sample) => own.some(({ deletedAt }) => at >= deletedAt)
    const kinds: [string, (sample: Sample) => boolean][] = [
      [
        'billed without an engine',
        (sample) => isBilled(sample) && !isDeleted(sample) && find(sample) === undefined,
      ],
      ['served without a bill', (sample) => !isBilled(sample) && find(sample)?.isServing === true],
    ]
    for (const [kind, isWrong] of kinds) {
      for (const { from, to } of findRuns(samples, isWrong)) {
        if (to - from <= toleranceMs) continue
        differences.push(`${id} was ${kind} from ${toText(from)} to ${toText(to)}`)
      }
    }
    for (const { from, to } of findRuns(samples, (sample) => find(sample)?.isServing === true)) {
      servedSeconds += (to - from) / 1000
    }
  }
  return { servedSeconds, differences }
}

/** The intervals in which consecutive samples match. */
function* findRuns(
  samples: readonly Sample[],
  matches: (sample: Sample) => boolean,
): Generator<{ from: number; to: number }> {
  let from: number | null = null
  let to = 0
  for (const sample of samples) {
    if (matches(sample)) {
      from ??= sample.at
      to = sample.at
    } else if (from !== null) {
      yield { from, to }
      from = null
    }
  }
  if (from !== null) yield { from, to }
}

function toText(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(11, 23)
}

/** Reads the spans of all deployments that are billed. Throws if two of a deployment overlap. */
export async function readSpans(databaseUrl: string): Promise<BilledSpan[]> {
  const connection = connectDatabase(databaseUrl, 1, () => {})
  try {
    const rows = await connection.db
      .selectFrom('instance_spans')
      .select(['engine_id', 'started_at', 'ended_at'])
      .select((builder) =>
        builder
          .selectFrom('deployment_events')
          .select(({ fn }) => fn.min('at').as('at'))
          .whereRef('deployment_events.deployment_id', '=', 'instance_spans.deployment_id')
          .where('status', '=', 'terminating')
          .as('deleted_at'),
      )
      .where('confirmed_at', 'is not', null)
      .where('voided_at', 'is', null)
      .orderBy('engine_id')
      .orderBy('started_at')
      .execute()
    const spans = rows.map((row) => ({
      engineId: row.engine_id,
      from: row.started_at.getTime(),
      to: row.ended_at?.getTime() ?? Infinity,
      deletedAt: row.deleted_at?.getTime() ?? Infinity,
    }))
    for (const [index, { engineId, to }] of spans.entries()) {
      const next = spans[index + 1]
      if (next?.engineId === engineId && next.from < to) throw new Error(`spans of ${engineId} overlap`)
    }
    return spans
  } finally {
    await connection.close()
  }
}

/** Runs Berth's own checks of the ledger. Throws if they find an anomaly. */
export async function expectNoAnomaly(databaseUrl: string): Promise<void> {
  const connection = connectDatabase(databaseUrl, 2, () => {})
  const { db } = connection
  try {
    const deps = { db, clock: () => new Date(), log: createLog({ level: 'error' }, () => {}) }
    await checkUsage(deps)
    await checkLedger(deps)
    const open = await db
      .selectFrom('usage_anomalies')
      .select(['kind', 'message'])
      .where('closed_at', 'is', null)
      .execute()
    if (open.length > 0) throw new Error(`anomalies: ${JSON.stringify(open, null, 2)}`)
  } finally {
    await connection.close()
  }
}

/** Expects exactly the running time of all deployments to be billed, without anomalies. */
export async function expectBilled(client: Client): Promise<void> {
  const { body: page } = await client.get('/api/v1/model-deployments?limit=500')
  let used = 0
  for (const { id } of page.items) {
    const { body: events } = await client.get(`/api/v1/model-deployments/${id}/events`)
    if (!events.items.some(({ status }: any) => status === 'running')) continue
    const { body: usage } = await client.get(`/api/v1/model-deployments/${id}/usage`)
    used += Math.round(usage.instance_seconds * 1000)
  }
  const summary = await readSettledSummary(client)
  const billed = summary.usage_totals
    .filter(({ meter }: any) => meter === 'gpu_instance_seconds')
    .reduce((sum: number, total: any) => sum + Math.round(Number(total.total_quantity) * 1000), 0)
  if (billed !== used || summary.open_anomalies !== 0) {
    const { body: anomalies } = await client.get('/v1/billing/anomalies')
    throw new Error(`used ${used} ms but billed ${billed} ms: ${JSON.stringify({ summary, anomalies })}`)
  }
}

/** Longer than the five minutes between two checks */
const patienceSeconds = 330

/** Reads the summary once its anomalies are closed: one that a kill caused closes with a later check. */
async function readSettledSummary(client: Client) {
  for (let second = 0; ; second++) {
    const { body: summary } = await client.get('/v1/billing/usage-summary')
    if (summary.open_anomalies === 0 || second === patienceSeconds) return summary
    await delay(1000)
  }
}
