/** Circuit breakers for many upstreams, one per key; see `createCircuitBreakers`. */
export interface CircuitBreakers {
  isOpen(key: string): boolean
  /** Records that a request is being sent. A half-open breaker opens again until the result is known. */
  onSend(key: string): void
  onSuccess(key: string): void
  onFailure(key: string): void
  /** Keys with at least one failure since their last success */
  size(): number
}

const failureThreshold = 3
const minOpenMilliseconds = 1_000
const maxOpenMilliseconds = 30_000
const maxTracked = 10_000

/**
 * Opens a breaker for one second after three consecutive failures. It then becomes half-open and lets one
 * request through. A success closes the breaker; each further failure doubles the open time, up to 30 s.
 */
export function createCircuitBreakers(now: () => number = () => performance.now()): CircuitBreakers {
  const failing = new Map<string, { failures: number; openUntil: number }>()

  function openMilliseconds(failures: number): number {
    return Math.min(minOpenMilliseconds * 2 ** (failures - failureThreshold), maxOpenMilliseconds)
  }

  return {
    isOpen(key) {
      const state = failing.get(key)
      return state !== undefined && state.failures >= failureThreshold && now() < state.openUntil
    },
    onSend(key) {
      const state = failing.get(key)
      if (state !== undefined && state.failures >= failureThreshold) {
        state.openUntil = now() + openMilliseconds(state.failures)
      }
    },
    onSuccess: (key) => void failing.delete(key),
    onFailure(key) {
      const failures = (failing.get(key)?.failures ?? 0) + 1
      failing.delete(key)
      const [oldest] = failing.keys()
      if (failing.size >= maxTracked && oldest !== undefined) failing.delete(oldest)
      failing.set(key, { failures, openUntil: now() + openMilliseconds(failures) })
    },
    size: () => failing.size,
  }
}
