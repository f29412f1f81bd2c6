import cluster from 'node:cluster'
import type { Worker } from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { serveClusterMetrics } from '../http/cluster-metrics.ts'

/** Messages between the supervisor and the API processes, besides metrics. */
type Message = { kind: 'listening'; address: string } | { kind: 'stop' }

export interface Supervision {
  count: number
  /** Milliseconds for a shutdown until a process is killed; none for a process that isn't listening yet */
  shutdownTimeout: number
  stopping: AbortSignal
  log: Logger
}

/** Time for the requests that are open at a shutdown */
export const drainMilliseconds = 30_000
/** Most time from the end of `DRAIN_DELAY` until a process has exited */
export const stopMilliseconds = drainMilliseconds + 15_000

const initialBackoff = 100
const maxBackoff = 5_000

/**
 * Runs `count` API processes on one port and restarts those that exit, until `stopping` aborts and all
 * exited. Throws if the first can't start. A killed supervisor ends its processes too.
 */
export async function superviseProcesses(supervision: Supervision): Promise<void> {
  const { count, shutdownTimeout, stopping, log } = supervision
  // The supervisor accepts connections and distributes them, so none is lost with a process that dies.
  cluster.schedulingPolicy = cluster.SCHED_RR
  serveClusterMetrics()
  let backoff = initialBackoff
  const started = Promise.withResolvers<void>()
  let listening = 0

  /** Restarts one process until the server stops. */
  async function keepOne(first: boolean): Promise<void> {
    while (!stopping.aborted) {
      const worker = cluster.fork()
      let listens = false
      worker.on('message', (message: Message) => {
        if (message.kind !== 'listening') return
        listens = true
        backoff = initialBackoff
        listening += 1
        if (first) started.resolve()
        if (listening === count) log.info(`listening on ${message.address} with ${count} processes`)
      })
      const exit = await waitForExit(worker, stopping, () => (listens ? shutdownTimeout : 0))
      if (first && listening === 0) {
        if (!stopping.aborted) throw new Error('the first API process could not start; see its message above')
        return
      }
      if (stopping.aborted) return
      log.warn({ pid: worker.process.pid, exit }, 'an API process exited; restarting it')
      await delay(backoff, undefined, { signal: stopping }).catch(() => {})
      backoff = Math.min(backoff * 2, maxBackoff)
    }
  }

  // The first process migrates the database; the others start afterwards.
  const first = keepOne(true)
  await Promise.race([first, started.promise])
  await Promise.all([first, ...Array.from({ length: count - 1 }, () => keepOne(false))])
}

/** Returns a process's exit code or signal. Shuts the process down when `stopping` aborts. */
async function waitForExit(
  worker: Worker,
  stopping: AbortSignal,
  shutdownTimeout: () => number,
): Promise<string | number> {
  const { promise, resolve } = Promise.withResolvers<string | number>()
  worker.once('exit', (code, signal) => resolve(signal ?? code))
  worker.on('error', () => {})
  let kill: NodeJS.Timeout | undefined
  const stop = () => {
    if (worker.isConnected()) worker.send({ kind: 'stop' } satisfies Message)
    kill = setTimeout(() => worker.process.kill('SIGKILL'), shutdownTimeout())
  }
  stopping.addEventListener('abort', stop)
  try {
    return await promise
  } finally {
    clearTimeout(kill)
    stopping.removeEventListener('abort', stop)
  }
}

/** True in the process that supervises the API processes, and in a process that runs alone. */
export function isSupervisor(): boolean {
  return cluster.isPrimary
}

/** In an API process: reports to the supervisor that it is listening. */
export function reportListening(address: string): void {
  cluster.worker?.send({ kind: 'listening', address } satisfies Message)
}

/** A signal that aborts when the supervisor or a process signal stops an API process; null without one */
export function supervisedStop(): AbortSignal | null {
  if (cluster.worker === undefined) return null
  const stopping = new AbortController()
  cluster.worker.on('message', ({ kind }: Message) => {
    if (kind === 'stop') stopping.abort()
  })
  // Ctrl-C and some process managers signal every process: this is the same request to stop, not a second.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.abort())
  return stopping.signal
}
