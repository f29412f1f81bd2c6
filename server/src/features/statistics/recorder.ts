import type { Logger } from 'pino'
import type { Database } from '../../database/tables.ts'
import { count, toBuckets } from './histogram.ts'
import { addMinutes } from './store.ts'
import type { DeploymentMinute } from './store.ts'
import { createCounts } from './summarize.ts'
import type { Counts } from './summarize.ts'

/** How one request went that was sent to an engine and has ended. */
export interface RequestOutcome {
  /** Answered 500 or above, or broken off by the engine */
  failed: boolean
  /** Null where the engine answered nothing */
  firstByteMilliseconds: number | null
  durationMilliseconds: number
  inputTokens: number
  outputTokens: number
}

/** Statistics on their way to the database; see `openStatistics`. */
export interface StatisticsRecorder {
  record(deploymentId: string, outcome: RequestOutcome): void
  /** Resolves when all that was recorded before is in the database, or the database could not be reached */
  flush(): Promise<void>
  close(): Promise<void>
}

/** What was recorded in one minute since the last flush. */
interface Batch {
  minute: number
  deployments: Map<string, Counts>
}

const minuteMilliseconds = 60_000
const flushMilliseconds = 5_000
/** Ten minutes of batches wait for a database that is away; older ones are given up. */
const longestQueue = 120

/**
 * Adds up in memory how requests went, by deployment and minute, and adds that to the database's every five seconds. A kill loses
 * what is in memory: unlike tokens, nobody pays for it.
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
    closed = closed.slice(-longestQueue)
    open = null
  }

  async function writeClosed(): Promise<void> {
    for (let batch = closed[0]; batch !== undefined; batch = closed[0]) {
      await addMinutes(db, toMinutes(batch))
      closed = closed.filter((other) => other !== batch)
    }
  }

  /** One at a time; what fails is tried again. */
  function flush(): Promise<void> {
    rotate()
    if (closed.length === 0) return flushing
    flushing = flushing.then(writeClosed).catch((error: unknown) => {
      log.warn({ err: error }, 'statistics could not be recorded yet')
    })
    return flushing
  }

  const timer = setInterval(() => void flush(), flushMilliseconds)

  return {
    record(deploymentId, outcome) {
      const now = clock().getTime()
      const minute = now - (now % minuteMilliseconds)
      if (open !== null && open.minute !== minute) rotate()
      open ??= { minute, deployments: new Map() }
      let counts = open.deployments.get(deploymentId)
      if (counts === undefined) {
        counts = createCounts()
        open.deployments.set(deploymentId, counts)
      }
      counts.requests += 1
      if (outcome.failed) counts.errors += 1
      counts.inputTokens += outcome.inputTokens
      counts.outputTokens += outcome.outputTokens
      if (outcome.firstByteMilliseconds !== null) count(counts.firstByte, outcome.firstByteMilliseconds)
      count(counts.duration, outcome.durationMilliseconds)
    },
    flush,
    async close() {
      clearInterval(timer)
      await flush()
    },
  }
}

function toMinutes({ minute, deployments }: Batch): DeploymentMinute[] {
  return [...deployments].map(([deploymentId, { firstByte, duration, ...counts }]) => ({
    deploymentId,
    minute: new Date(minute),
    ...counts,
    firstByteBuckets: toBuckets(firstByte),
    durationBuckets: toBuckets(duration),
  }))
}
