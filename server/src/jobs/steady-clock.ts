import type { ConstructorOptions } from 'pg-boss'

/** The longest delay of `setTimeout`; Node runs a longer one at once. */
const longestDelay = 2 ** 31 - 1

/**
 * The queue's clock begins at the time of day but doesn't follow when that is set, because timers would wait
 * for the expected time. The queue itself measures the difference to the database's clock.
 */
export const steadyClock: NonNullable<ConstructorOptions['clock']> = {
  now: () => Math.round(performance.timeOrigin + performance.now()),
  setTimeout: (run, milliseconds) => setTimeout(run, Math.min(milliseconds, longestDelay)),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
  setInterval: (run, milliseconds) => setInterval(run, Math.min(milliseconds, longestDelay)),
  clearInterval: (timer) => clearInterval(timer as NodeJS.Timeout),
}
