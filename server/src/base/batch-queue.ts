/** Batches to write, oldest first, one at a time. The next flush retries a failed one and those after it. */
export class BatchQueue<Batch> {
  readonly #write: (batch: Batch) => Promise<void>
  readonly #afterwards: (batch: Batch) => Promise<void>
  readonly #onError: (error: unknown) => void
  #batches: readonly Batch[] = []
  #last: Promise<void> = Promise.resolve()

  /** `write` may run again for the same batch; `afterwards` runs at most once, when it is written. */
  constructor({
    write,
    afterwards = async () => {},
    onError,
  }: {
    write: (batch: Batch) => Promise<void>
    afterwards?: (batch: Batch) => Promise<void>
    onError: (error: unknown) => void
  }) {
    this.#write = write
    this.#afterwards = afterwards
    this.#onError = onError
  }

  get batches(): readonly Batch[] {
    return this.#batches
  }

  /** Drops the oldest batches if there are more than `most`. */
  add(batch: Batch, most = Infinity): void {
    this.#batches = [...this.#batches, batch].slice(-most)
  }

  /** Resolves when all batches are written, or a write has failed. */
  flush(): Promise<void> {
    return this.#batches.length === 0 ? this.#last : this.run(() => this.#writeAll())
  }

  /** Does other work that must not run beside a write. */
  run(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(work).catch(this.#onError)
    return this.#last
  }

  async #writeAll(): Promise<void> {
    for (let batch = this.#batches[0]; batch !== undefined; batch = this.#batches[0]) {
      await this.#write(batch)
      const written = batch
      this.#batches = this.#batches.filter((other) => other !== written)
      await this.#afterwards(batch)
    }
  }
}
