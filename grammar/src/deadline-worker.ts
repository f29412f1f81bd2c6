import { parentPort, Worker } from 'node:worker_threads'

/** The reason of a job that took too long, or more memory than its thread may have. */
export class JobAbortedError extends Error {}

interface Job {
  input: unknown
  resolve: (output: unknown) => void
  reject: (error: unknown) => void
}

const idleMilliseconds = 30_000
const maxWaiting = 64
const megabytes = 256

/**
 * A thread for jobs that could block the process. It runs one after another, each at most `milliseconds`,
 * starts with a job, and ends after half a minute without one. Its file calls `serveJobs`.
 */
export class DeadlineWorker<Input, Output> {
  readonly #file: URL
  readonly #milliseconds: number
  readonly #waiting: Job[] = []
  #thread: Worker | null = null
  #running: Job | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(file: URL, milliseconds: number) {
    this.#file = file
    this.#milliseconds = milliseconds
  }

  /** Resolves to what the thread makes of an input. Rejects with a JobAbortedError. */
  run(input: Input): Promise<Output> {
    if (this.#waiting.length >= maxWaiting) return Promise.reject(new JobAbortedError('has to wait too long'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve: resolve as Job['resolve'], reject })
      if (this.#running === null) this.#next()
    })
  }

  /** Ends the thread. */
  close(): void {
    clearTimeout(this.#timer)
    void this.#thread?.terminate()
    this.#thread = null
  }

  #next(): void {
    clearTimeout(this.#timer)
    this.#running = this.#waiting.shift() ?? null
    if (this.#running === null) {
      this.#timer = setTimeout(() => this.close(), idleMilliseconds).unref()
      return
    }
    this.#thread ??= this.#start()
    this.#thread.ref()
    this.#timer = setTimeout(() => this.#abort('took too long'), this.#milliseconds)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
    this.#thread.postMessage(this.#running.input)
  }

  #start(): Worker {
    const thread = new Worker(this.#file, {
      resourceLimits: { maxOldGenerationSizeMb: megabytes },
      // The engine's key is not among them, and a thread needs none.
      env: {},
      execArgv: [],
    })
    thread.on('message', (output: unknown) => {
      if (thread === this.#thread) this.#end((job) => job.resolve(output))
    })
    thread.on('error', (error) => {
      if (thread === this.#thread) this.#abort(error.message)
    })
    return thread
  }

  #abort(reason: string): void {
    this.close()
    this.#end((job) => job.reject(new JobAbortedError(reason)))
  }

  #end(settle: (job: Job) => void): void {
    const job = this.#running
    this.#thread?.unref()
    this.#next()
    if (job !== null) settle(job)
  }
}

/** In a thread: returns what `run` makes of each input. */
export function serveJobs(run: (input: never) => unknown): void {
  parentPort!.on('message', (input) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
    parentPort!.postMessage(run(input as never))
  })
}
