import { Worker } from 'node:worker_threads'
import type { HashAnswer, HashOrder } from './hash-worker.ts'

/** Hashes files one after the other in a worker thread, so that the event loop stays free. */
export interface FileHasher {
  /** Resolves to the SHA-256 of a file in hexadecimal. Rejects when the signal aborts. */
  hash(path: string, signal: AbortSignal): Promise<string>
  /** Ends the thread. Hashes in progress reject. */
  close(): Promise<void>
}

const program = new URL('./hash-worker.ts', import.meta.url)
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 }

/** The thread starts with the first file. After a failure of the thread, the next file starts another. */
export function createFileHasher(): FileHasher {
  const jobs = new Map<number, PromiseWithResolvers<string>>()
  let worker: Worker | null = null
  let lastId = 0

  function start(): Worker {
    const started = new Worker(program, { resourceLimits })
    const fail = (error: Error) => {
      if (worker !== started) return
      worker = null
      for (const job of jobs.values()) job.reject(error)
    }
    started.on('message', ({ id, sha256, message }: HashAnswer) => {
      if (sha256 === null) jobs.get(id)?.reject(new Error(message))
      else jobs.get(id)?.resolve(sha256)
    })
    started.on('error', (error) => fail(error instanceof Error ? error : new Error(String(error))))
    started.on('exit', () => fail(new Error('the thread that hashes files has ended')))
    return started
  }

  return {
    async hash(path, signal) {
      signal.throwIfAborted()
      worker ??= start()
      worker.ref()
      const id = (lastId += 1)
      const job = Promise.withResolvers<string>()
      jobs.set(id, job)
      const isAborted = new Int32Array(new SharedArrayBuffer(4))
      const abort = () => {
        isAborted[0] = 1
        job.reject(signal.reason)
      }
      signal.addEventListener('abort', abort)
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
      worker.postMessage({ id, path, isAborted } satisfies HashOrder)
      try {
        return await job.promise
      } finally {
        signal.removeEventListener('abort', abort)
        jobs.delete(id)
        // An idle thread doesn't keep the process alive.
        if (jobs.size === 0) worker?.unref()
      }
    },
    async close() {
      await worker?.terminate()
    },
  }
}
