const tickMilliseconds = 1_000
/** A longer gap between two ticks was not observed: the clock stepped, or the machine was suspended. */
const longestGapMilliseconds = 10_000

/** A clock that moves this much more than the monotonic one was set. */
const leastStepMilliseconds = 1_000

/** A jump of the clock, and the time after it */
interface Jump {
  until: number
  milliseconds: number
}

/**
 * Removes the last jumps ahead, as far as the clock was set back to `now`. They would count for what begins
 * now, because their times come again.
 */
function takeBack(jumps: Jump[], milliseconds: number, now: number): void {
  let left = milliseconds
  for (let index = jumps.length - 1; index >= 0 && left > 0; index -= 1) {
    const jump = jumps[index]!
    if (jump.milliseconds < 0) continue
    const taken = Math.min(jump.milliseconds, left)
    left -= taken
    if (taken === jump.milliseconds) jumps.splice(index, 1)
    else jumps[index] = { until: Math.min(jump.until, now), milliseconds: jump.milliseconds - taken }
  }
}

/** Measures a wait without unobserved time, so that no timeout ends by a set clock or a suspended laptop. */
export class ObservedTime {
  readonly #now: () => number
  readonly #monotonic: () => number
  readonly #timer: NodeJS.Timeout
  #last: number
  /** The unobserved gaps: the time at their end and their length; negative when the clock was set back */
  readonly #gaps: Jump[] = []
  /** How far the clock was set ahead, and the first time after each step */
  readonly #steps: Jump[] = []
  /** The clock beyond the monotonic one at the last observation */
  #lead: number

  constructor(now = (): number => Date.now(), monotonic = (): number => performance.now()) {
    this.#now = now
    this.#monotonic = monotonic
    this.#last = now()
    this.#lead = this.#last - monotonic()
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

  /** Milliseconds from `since` to `until` without steps of the clock: never more than passed. */
  passed(since: Date, until: Date): number {
    this.#observe()
    const stepped = this.#steps
      .filter((step) => step.until > since.getTime() && step.until <= until.getTime())
      .reduce((sum, { milliseconds }) => sum + milliseconds, 0)
    return Math.max(0, until.getTime() - since.getTime() - stepped)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #observe(): void {
    const now = this.#now()
    const last = this.#last
    const milliseconds = now - last
    this.#last = now
    const lead = now - this.#monotonic()
    const step = lead - this.#lead
    this.#lead = lead
    if (step < -leastStepMilliseconds) {
      takeBack(this.#steps, -step, now)
      takeBack(this.#gaps, -step, now)
    }
    if (step > leastStepMilliseconds) {
      // The clock was set at any time since the last observation. What began afterwards is not concerned.
      const until = last + Math.max(step, milliseconds - step)
      this.#steps.push({ until, milliseconds: step })
      if (this.#steps.length > 1000) this.#steps.shift()
    }
    if (milliseconds < 0 || milliseconds > longestGapMilliseconds) {
      this.#gaps.push({ until: now, milliseconds })
      // A wait is shorter than a thousand gaps.
      if (this.#gaps.length > 1000) this.#gaps.shift()
    }
  }
}
