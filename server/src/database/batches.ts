import { isDatabaseUnavailable, isTransactionConflict } from './connect.ts'

interface Waiting<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/**
 * Collects items and hands them to `run`, which returns one result per item, in their order. An item that is
 * alone runs immediately. The batch after one of several items waits `intervalMilliseconds`, so that the
 * number of queries a second has a limit.
 */
export class Batches<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Result[]>
  readonly #intervalMilliseconds: number
  #waiting: Waiting<Item, Result>[] = []
  #nextAt = -Infinity

  constructor(run: (items: readonly Item[]) => Promise<readonly Result[]>, intervalMilliseconds: number) {
    this.#run = run
    this.#intervalMilliseconds = intervalMilliseconds
  }

  /** Resolves when the batch of this item is done. Rejects with the error of `run`. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (this.#waiting.length > 1) return
      setTimeout(() => void this.#begin(), Math.max(0, this.#nextAt - performance.now()))
    })
  }

  async #begin(): Promise<void> {
    const batch = this.#waiting
    this.#waiting = []
    if (batch.length > 1) this.#nextAt = performance.now() + this.#intervalMilliseconds
    try {
      const results = await this.#run(batch.map(({ item }) => item))
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!)
    } catch (error) {
      // Only one item may be at fault or wait for a lock. A lost connection may have written the batch.
      const isUncertain = isDatabaseUnavailable(error) && !isTransactionConflict(error)
      if (batch.length === 1 || isUncertain) for (const { reject } of batch) reject(error)
      else await Promise.all(batch.map((waiting) => this.#runAlone(waiting)))
    }
  }

  async #runAlone({ item, resolve, reject }: Waiting<Item, Result>): Promise<void> {
    try {
      const [result] = await this.#run([item])
      resolve(result!)
    } catch (error) {
      reject(error)
    }
  }
}
