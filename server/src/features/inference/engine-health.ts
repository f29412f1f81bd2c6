/** Which deployments are left out for a while; see `watchEngineHealth`. */
export interface EngineHealth {
  isAiling(deploymentId: string): boolean
  /** A request goes to an ailing one to see how it is: others wait for what comes of it */
  tries(deploymentId: string): void
  succeeded(deploymentId: string): void
  failed(deploymentId: string): void
  size(): number
}

const failuresUntilAiling = 3
const shortestPause = 1_000
const longestPause = 30_000
const mostRemembered = 10_000

/**
 * Counts failures in a row: refused or broken connections, silence, 5xx. After the third a deployment is left out for a second,
 * then one request tries it; each failure doubles the pause, up to 30 s, and a success ends it.
 */
export function watchEngineHealth(now: () => number = () => performance.now()): EngineHealth {
  const failing = new Map<string, { failures: number; until: number }>()

  function pauseAfter(failures: number): number {
    return Math.min(shortestPause * 2 ** (failures - failuresUntilAiling), longestPause)
  }

  return {
    isAiling(deploymentId) {
      const state = failing.get(deploymentId)
      return state !== undefined && state.failures >= failuresUntilAiling && now() < state.until
    },
    tries(deploymentId) {
      const state = failing.get(deploymentId)
      if (state !== undefined && state.failures >= failuresUntilAiling) {
        state.until = now() + pauseAfter(state.failures)
      }
    },
    succeeded: (deploymentId) => void failing.delete(deploymentId),
    failed(deploymentId) {
      const failures = (failing.get(deploymentId)?.failures ?? 0) + 1
      failing.delete(deploymentId)
      const [oldest] = failing.keys()
      if (failing.size >= mostRemembered && oldest !== undefined) failing.delete(oldest)
      failing.set(deploymentId, { failures, until: now() + pauseAfter(failures) })
    },
    size: () => failing.size,
  }
}
