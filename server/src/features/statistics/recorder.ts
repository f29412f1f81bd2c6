import { randomUUID } from 'node:crypto'
import { BatchQueue } from '../../base/batch-queue.ts'
import type { Services } from '../../services.ts'
import { addCallerTotals } from './caller-store.ts'
import type { CallerTime } from './caller-store.ts'
import { createHistogram, recordDuration, toBuckets } from './histogram.ts'
import type { Histogram } from './histogram.ts'
import { addBatch, addTotals, floorTo, forgetBatch } from './store.ts'
import type { DeploymentTotals } from './store.ts'
import { countStatus, createTotals } from './summarize.ts'
import type { RequestTotals } from './summarize.ts'

/** The outcome of one finished request that reached an engine. */
export interface RequestOutcome {
  /** The caller */
  userId: number
  /** Time in Berth's queue */
  waitedMilliseconds: number
  /** The caller's status, 499 if they left before, or 502 for a response that the engine cut off */
  status: number
  /** The caller left before the end of the response */
  callerLeft: boolean
  /** A client library sent the request again */
  isRetry: boolean
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

/** The outcomes of one minute since the last flush. */
interface Batch {
  id: string
  minute: number
  deployments: Map<string, RequestTotals>
  /** By user id for each deployment */
  callers: Map<string, Map<number, CallerTotals>>
}

type CallerTotals = Omit<CallerTime, 'at' | 'waitingBuckets'> & { waiting: Histogram }

const minuteMilliseconds = 60_000
const flushMilliseconds = 5_000
/** Ten minutes of batches; older ones are dropped while the database is unreachable. */
const maxQueuedBatches = 120

/**
 * Sums outcomes by deployment, caller and minute. Every five seconds adds them to their minute and hour,
 * exactly once. A killed process loses its last ones: billing doesn't use these numbers.
 */
export class StatisticsRecorder {
  readonly #clock: () => Date
  readonly #closed: BatchQueue<Batch>
  readonly #timer: NodeJS.Timeout
  #open: Batch | null = null

  constructor({ db, clock, log }: Pick<Services, 'db' | 'clock' | 'log'>) {
    this.#clock = clock
    this.#closed = new BatchQueue({
      write: (batch) =>
        addBatch(db, batch.id, async (transaction) => {
          for (const resolution of ['minute', 'hour'] as const) {
            const at = floorTo(resolution, new Date(batch.minute))
            await addTotals(transaction, resolution, toDeploymentTotals(batch, at))
            await addCallerTotals(transaction, resolution, toCallerTotals(batch, at))
          }
        }),
      afterwards: ({ id }) => forgetBatch(db, id),
      onError: (error) => log.warn({ err: error }, 'could not write statistics, retrying'),
    })
    this.#timer = setInterval(() => void this.flush(), flushMilliseconds)
  }

  record(deploymentId: string, outcome: RequestOutcome): void {
    const batch = this.#openBatch()
    addToCaller(batch, deploymentId, outcome)
    const totals = totalsOf(batch, deploymentId)
    totals.requests += 1
    if (outcome.status >= 400) countStatus(totals, outcome.status, 1)
    if (outcome.status >= 500) totals.errors += 1
    if (outcome.callerLeft) totals.callerLeft += 1
    if (outcome.isRetry) totals.retries += 1
    totals.inputTokens += outcome.inputTokens
    totals.outputTokens += outcome.outputTokens
    if (outcome.firstByteMilliseconds !== null)
      recordDuration(totals.firstByte, outcome.firstByteMilliseconds)
    recordDuration(totals.duration, outcome.durationMilliseconds)
  }

  recordLoad(deploymentId: string, { inFlightSeconds, waitingSeconds }: LoadSample): void {
    const totals = totalsOf(this.#openBatch(), deploymentId)
    totals.inFlightSeconds += inFlightSeconds
    totals.waitingSeconds += waitingSeconds
  }

  /** Resolves when everything recorded so far is in the database, or the write has failed. */
  flush(): Promise<void> {
    this.#rotate()
    return this.#closed.flush()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  /** The batch of the present minute */
  #openBatch(): Batch {
    const now = this.#clock().getTime()
    const minute = now - (now % minuteMilliseconds)
    if (this.#open?.minute !== minute) this.#rotate()
    return (this.#open ??= { id: randomUUID(), minute, deployments: new Map(), callers: new Map() })
  }

  #rotate(): void {
    if (this.#open !== null) this.#closed.add(this.#open, maxQueuedBatches)
    this.#open = null
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

function toCallerTotals({ callers }: Batch, at: Date): CallerTime[] {
  return [...callers.values()]
    .flatMap((ofDeployment) => [...ofDeployment.values()])
    .map(({ waiting, ...totals }) => ({
      ...totals,
      at,
      waitingBuckets: toBuckets(waiting),
    }))
}

function toDeploymentTotals({ deployments }: Batch, at: Date): DeploymentTotals[] {
  return [...deployments].map(([deploymentId, { firstByte, duration, ...totals }]) => ({
    deploymentId,
    at,
    ...totals,
    firstByteBuckets: toBuckets(firstByte),
    durationBuckets: toBuckets(duration),
  }))
}
