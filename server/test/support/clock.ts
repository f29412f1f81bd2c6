/** A real-time clock that a test can advance. */
export interface TestClock {
  now: () => Date
  advance(milliseconds: number): void
}

/** With a `speed`, time passes so many times as fast. */
export function createTestClock(speed = 1): TestClock {
  const start = Date.now()
  let ahead = 0
  return {
    now: () => new Date(start + (Date.now() - start) * speed + ahead),
    advance(milliseconds) {
      ahead += milliseconds
    },
  }
}

export const hour = 3_600_000
export const day = 24 * hour
