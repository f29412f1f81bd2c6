import type { Logger } from 'pino'
import type { Database } from '../../database/tables.ts'
import { addCallerMinutes } from './caller-store.ts'
import type { CallerMinute } from './caller-store.ts'
import { createHistogram, recordDuration, toBuckets } from './histogram.ts'
import type { Histogram } from './histogram.ts'
import { addMinutes } from './store.ts'
import type { DeploymentMinute } from './store.ts'
import { createTotals } from './summarize.ts'
import type { RequestTotals } from './summarize.ts'

/** The outcome of one finished request that reached an engine. */
export interface RequestOutcome {
  /** The caller */
  userId: number
  /** Time in Berth's queue */
  waitedMilliseconds: number
  /** True for a status of 500 or above, or a response that the engine cut off */
  failed: boolean
  /** null if the engine sent no response */
  firstByteMilliseconds: number | null
  durationMilliseconds: number
  inputTokens: number
  outputTokens: number
}

/** The load of a deployment by one process, since its last sample. */
export interface LoadSample {
  /** Seconds that requests spent at engines, summed over requests */
  inFlightSeconds: number
  /** Seconds that requests waited, summed over requests */
  waitingSeconds: number
}

/** Collects request statistics in memory and writes them in batches. */
export interface StatisticsRecorder {
  record(deploymentId: string, outcome: RequestOutcome): void
  recordLoad(deploymentId: string, sample: LoadSample): void
  /** Resolves when everything recorded so far is in the database, or the write has failed */
  flush(): Promise<void>
  close(): Promise<void>
}

/** The outcomes of one minute since the last flush. */
interface Batch {
  minute: number
  deployments: Map<string, RequestTotals>
  /** By user id for each deployment */
  callers: Map<string, Map<number, CallerTotals>>
}

type CallerTotals = Omit<CallerMinute, 'minute' | 'waitingBuckets'> & { waiting: Histogram }

const minuteMilliseconds = 60_000
const flushMilliseconds = 5_000
/** Ten minutes of batches; older ones are dropped while the database is unreachable. */
const maxQueuedBatches = 120

/**
 * Opens a recorder that sums outcomes by deployment, caller and minute and adds them to the database every
 * five seconds. A killed process loses what is still in memory, which is acceptable because billing doesn't
 * use these numbers.
 */
export function openStatistics({
  db,
  clock,
  log,
}: {
  db: Database
  clock: () => Date
  log: Logger
}): StatisticsRecorder {
  let open: Batch | null = null
  let closed: Batch[] = []
  let flushing: Promise<void> = Promise.resolve()

  function rotate(): void {
    if (open !== null) closed.push(open)
    closed = closed.slice(-maxQueuedBatches)
    open = null
  }

  async function writeClosed(): Promise<void> {
    for (let batch = closed[0]; batch !== undefined; batch = closed[0]) {
      const written = batch
      await db.transaction().execute(async (transaction) => {
        await addMinutes(transaction, toMinutes(written))
        await addCallerMinutes(transaction, toCallerMinutes(written))
      })
      closed = closed.filter((other) => other !== batch)
    }
  }

  /** Flushes run one at a time. A failed batch is retried by the next flush. */
  function flush(): Promise<void> {
    rotate()
    if (closed.length === 0) return flushing
    flushing = flushing.then(writeClosed).catch((error: unknown) => {
      log.warn({ err: error }, 'could not write statistics, retrying')
    })
    return flushing
  }

  const timer = setInterval(() => void flush(), flushMilliseconds)

  /** The batch of the present minute */
  function openBatch(): Batch {
    const now = clock().getTime()
    const minute = now - (now % minuteMilliseconds)
    if (open !== null && open.minute !== minute) rotate()
    return (open ??= { minute, deployments: new Map(), callers: new Map() })
  }

  return {
    record(deploymentId, outcome) {
      const batch = openBatch()
      addToCaller(batch, deploymentId, outcome)
      const totals = totalsOf(batch, deploymentId)
      totals.requests += 1
      if (outcome.failed) totals.errors += 1
      totals.inputTokens += outcome.inputTokens
      totals.outputTokens += outcome.outputTokens
      if (outcome.firstByteMilliseconds !== null)
        recordDuration(totals.firstByte, outcome.firstByteMilliseconds)
      recordDuration(totals.duration, outcome.durationMilliseconds)
    },
    recordLoad(deploymentId, { inFlightSeconds, waitingSeconds }) {
      const totals = totalsOf(openBatch(), deploymentId)
      totals.inFlightSeconds += inFlightSeconds
      totals.waitingSeconds += waitingSeconds
    },
    flush,
    async close() {
      clearInterval(timer)
      await flush()
    },
  }
}

function totalsOf({ deployments }: Batch, deploymentId: string): RequestTotals {
  let totals = deployments.get(deploymentId)
  if (totals === undefined) {
    totals = createTotals()
    deployments.set(deploymentId, totals)
  }
  return totals
}

function addToCaller({ callers }: Batch, deploymentId: string, outcome: RequestOutcome): void {
  const { userId } = outcome
  let ofDeployment = callers.get(deploymentId)
  if (ofDeployment === undefined) {
    ofDeployment = new Map()
    callers.set(deploymentId, ofDeployment)
  }
  let totals = ofDeployment.get(userId)
  if (totals === undefined) {
    totals = {
      deploymentId,
      userId,
      requests: 0,
      inputTokens: 0,
      outputTokens: 0,
      waiting: createHistogram(),
    }
    ofDeployment.set(userId, totals)
  }
  totals.requests += 1
  totals.inputTokens += outcome.inputTokens
  totals.outputTokens += outcome.outputTokens
  recordDuration(totals.waiting, outcome.waitedMilliseconds)
}

function toCallerMinutes({ minute, callers }: Batch): CallerMinute[] {
  return [...callers.values()]
    .flatMap((ofDeployment) => [...ofDeployment.values()])
    .map(({ waiting, ...totals }) => ({
      ...totals,
      minute: new Date(minute),
      waitingBuckets: toBuckets(waiting),
    }))
}

function toMinutes({ minute, deployments }: Batch): DeploymentMinute[] {
  return [...deployments].map(([deploymentId, { firstByte, duration, ...totals }]) => ({
    deploymentId,
    minute: new Date(minute),
    ...totals,
    firstByteBuckets: toBuckets(firstByte),
    durationBuckets: toBuckets(duration),
  }))
}
