import { setTimeout as delay } from 'node:timers/promises'
import { ApiError, ConnectionError } from './client.ts'

const longestOutage = 120_000
const firstPause = 250
const longestPause = 5_000

/** Bridges a server's restart: pauses longer and longer between attempts, for up to two minutes. */
export class Patience {
  readonly #note: (text: string) => void
  #since: number | null = null
  #pause = firstPause

  constructor(note: (text: string) => void) {
    this.#note = note
  }

  /** Forgets the outage after an attempt that succeeded. */
  reset(): void {
    this.#since = null
    this.#pause = firstPause
  }

  /** Waits before the next attempt. Throws an error that no attempt repairs, and that of a long outage. */
  async wait(error: unknown): Promise<void> {
    if (!mayPass(error)) throw error
    this.#since ??= this.#begin()
    if (Date.now() - this.#since > longestOutage) throw error
    await delay(this.#pause)
    this.#pause = Math.min(this.#pause * 2, longestPause)
  }

  /** Calls until an attempt succeeds. */
  async call<Result>(work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        const result = await work()
        this.reset()
        return result
      } catch (error) {
        await this.wait(error)
      }
    }
  }

  #begin(): number {
    this.#note('The server does not respond. Waiting for it…')
    return Date.now()
  }
}

function mayPass(error: unknown): boolean {
  if (error instanceof ApiError) return error.status >= 500
  return error instanceof ConnectionError
}
