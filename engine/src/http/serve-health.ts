import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

export interface HealthOrder {
  /** One number, which grows while the process is not hung */
  beats: Int32Array
  /** How long it may stay the same */
  patienceMs: number
}

const beatMs = 1000

/**
 * Answers health checks on another port by a thread, so that a busy engine is not lost: 200, or 503 once the
 * process has been busy for `patienceMs`. Resolves to the port.
 */
export async function serveHealth(patienceMs = 60_000): Promise<number> {
  const beats = new Int32Array(new SharedArrayBuffer(4))
  setInterval(() => Atomics.add(beats, 0, 1), beatMs).unref()
  return startHealthThread({ beats, patienceMs }).port
}

/** Starts the thread. */
export function startHealthThread(order: HealthOrder): { thread: Worker; port: Promise<number> } {
  const thread = new Worker(new URL('./health-thread.ts', import.meta.url), { workerData: order, env: {} })
  thread.unref()
  return { thread, port: once(thread, 'message').then(([port]) => port as number) }
}
