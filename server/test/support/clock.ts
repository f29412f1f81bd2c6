/** A real-time clock that a test can advance. */
export interface TestClock {
  now: () => Date
  advance(milliseconds: number): void
}

export function createTestClock(): TestClock {
  let ahead = 0
  return {
    now: () => new Date(Date.now() + ahead),
    advance(milliseconds) {
      ahead += milliseconds
    },
  }
}

export const hour = 3_600_000
export const day = 24 * hour
