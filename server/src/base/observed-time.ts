const tickMilliseconds = 1_000
/** A longer gap between two ticks was not observed: the clock stepped, or the machine was suspended. */
const longestGapMilliseconds = 10_000

/** Measures a wait without unobserved time, so that no timeout ends by a set clock or a suspended laptop. */
export class ObservedTime {
  readonly #now: () => number
  readonly #timer: NodeJS.Timeout
  #last: number
  /** The unobserved gaps: the time at their end and their length; negative when the clock was set back */
  readonly #gaps: { until: number; milliseconds: number }[] = []

  constructor(now = (): number => Date.now()) {
    this.#now = now
    this.#last = now()
    this.#timer = setInterval(() => this.#observe(), tickMilliseconds)
    this.#timer.unref()
  }

  /** Observed milliseconds from `since` to `now`; from the last step back if `since` is in the future. */
  between(since: Date, now: Date): number {
    this.#observe()
    const end = now.getTime()
    const setBackAt = this.#gaps.findLast(({ milliseconds }) => milliseconds < 0)?.until ?? end
    const start = since.getTime() > end ? setBackAt : since.getTime()
    const unobserved = this.#gaps
      .filter(({ until, milliseconds }) => milliseconds > 0 && until > start && until <= end)
      .reduce((sum, { milliseconds }) => sum + milliseconds, 0)
    return Math.max(0, end - start - unobserved)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #observe(): void {
    const now = this.#now()
    const milliseconds = now - this.#last
    this.#last = now
    if (milliseconds < 0 || milliseconds > longestGapMilliseconds) {
      this.#gaps.push({ until: now, milliseconds })
      // A wait is shorter than a thousand gaps.
      if (this.#gaps.length > 1000) this.#gaps.shift()
    }
  }
}
