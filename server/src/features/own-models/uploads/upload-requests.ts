/** The requests of this process that write to an upload, at most one for each. */
export class UploadRequests {
  readonly #running = new Map<string, { stop: AbortController; done: Promise<unknown> }>()

  /** Runs `work` after it ends the previous request: its client sends another only after a disconnect. */
  async run<Value>(id: string, work: (stop: AbortSignal) => Promise<Value>): Promise<Value> {
    await this.stop(id)
    const stop = new AbortController()
    const done = work(stop.signal)
    const request = { stop, done }
    this.#running.set(id, request)
    try {
      return await done
    } finally {
      if (this.#running.get(id) === request) this.#running.delete(id)
    }
  }

  /** Ends the request that writes to an upload. */
  async stop(id: string): Promise<void> {
    for (let request = this.#running.get(id); request !== undefined; request = this.#running.get(id)) {
      request.stop.abort()
      await request.done.catch(() => {})
    }
  }
}
