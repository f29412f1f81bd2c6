import cluster from 'node:cluster'
import type { Worker } from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { serveClusterMetrics } from './http/cluster-metrics.ts'

/** What the processes of an API that share a port say to each other beside metrics. */
type Message = { kind: 'listening'; address: string } | { kind: 'stop' }

export interface Supervision {
  count: number
  /** Milliseconds that a process may take to end when it is told to; what still runs then is killed, and so is one that does not listen yet */
  endWithin: number
  stopping: AbortSignal
  log: Logger
}

const firstPause = 100
const longestPause = 5_000

/**
 * Runs this program in `count` processes that share its port, replaces each that dies, and ends when `stopping` fires and all
 * have ended. Throws when the first of them can't start: what it lacks, all would lack. When this process is killed they end too.
 */
export async function superviseProcesses(supervision: Supervision): Promise<void> {
  const { count, endWithin, stopping, log } = supervision
  // This process takes the connections and hands them out: what one that dies has not taken over goes to another.
  cluster.schedulingPolicy = cluster.SCHED_RR
  serveClusterMetrics()
  let pause = firstPause
  const started = Promise.withResolvers<void>()
  let listening = 0

  /** Keeps one process running until the server stops. */
  async function keepOne(first: boolean): Promise<void> {
    while (!stopping.aborted) {
      const worker = cluster.fork()
      let listens = false
      worker.on('message', (message: Message) => {
        if (message.kind !== 'listening') return
        listens = true
        pause = firstPause
        listening += 1
        if (first) started.resolve()
        if (listening === count) log.info(`listening on ${message.address} with ${count} processes`)
      })
      const end = await runToEnd(worker, stopping, () => (listens ? endWithin : 0))
      if (first && listening === 0) {
        if (!stopping.aborted) throw new Error('its first process could not start; what it says stands above')
        return
      }
      if (stopping.aborted) return
      log.warn({ pid: worker.process.pid, end }, 'a process of the API ended; starting another')
      await delay(pause, undefined, { signal: stopping }).catch(() => {})
      pause = Math.min(pause * 2, longestPause)
    }
  }

  // The first brings the database up to date, alone; the others start when it is there.
  const first = keepOne(true)
  await Promise.race([first, started.promise])
  await Promise.all([first, ...Array.from({ length: count - 1 }, () => keepOne(false))])
}

/** Resolves to how a process ended, unasked or because the server stops. */
async function runToEnd(
  worker: Worker,
  stopping: AbortSignal,
  endWithin: () => number,
): Promise<string | number> {
  const { promise, resolve } = Promise.withResolvers<string | number>()
  worker.once('exit', (code, signal) => resolve(signal ?? code))
  worker.on('error', () => {})
  let kill: NodeJS.Timeout | undefined
  const stop = () => {
    if (worker.isConnected()) worker.send({ kind: 'stop' } satisfies Message)
    kill = setTimeout(() => worker.process.kill('SIGKILL'), endWithin())
  }
  stopping.addEventListener('abort', stop)
  try {
    return await promise
  } finally {
    clearTimeout(kill)
    stopping.removeEventListener('abort', stop)
  }
}

/** True in the process that is to run the others. */
export function isSupervisor(): boolean {
  return cluster.isPrimary
}

/** In one of the processes: says that it listens; nothing where it is the only one. */
export function reportListening(address: string): void {
  cluster.worker?.send({ kind: 'listening', address } satisfies Message)
}

/** In one of the processes: fires when the supervisor or a signal tells it to stop; null where it is the only one. */
export function supervisedStop(): AbortSignal | null {
  if (cluster.worker === undefined) return null
  const stopping = new AbortController()
  cluster.worker.on('message', ({ kind }: Message) => {
    if (kind === 'stop') stopping.abort()
  })
  // A terminal's Ctrl-C and some supervisors signal every process themselves: that is the same wish, not a second one.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.abort())
  return stopping.signal
}
