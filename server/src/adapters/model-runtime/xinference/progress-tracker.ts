import type { EngineObservation } from '../../../ports/model-runtime.ts'
import { notYetListed } from './observe.ts'

/** Tracks how long a deployment has been stalled or unreachable. Kept in memory, so a restart of Berth resets it. */
export interface ProgressTracker {
  /** Records an observation and returns it, or a failure if the download or start has stalled */
  record(deploymentId: string, observation: EngineObservation): EngineObservation
  /** True from `recordUnreachable` until the next `record` */
  isUnreachable(deploymentId: string): boolean
  recordUnreachable(deploymentId: string, message: string): EngineObservation
  clear(deploymentId: string): void
}

/** A model whose instance is READY counts as absent if Xinference does not list it for this long. */
const maxUnlistedMs = 30_000

export function createProgressTracker(stallMs: number): ProgressTracker {
  const unchanged = new Map<string, { text: string; since: number }>()
  const unreachableSince = new Map<string, Date>()

  return {
    record(deploymentId, observation) {
      unreachableSince.delete(deploymentId)
      if (observation.phase !== 'downloading' && observation.phase !== 'starting') {
        unchanged.delete(deploymentId)
        return observation
      }
      const text = JSON.stringify(observation)
      const last = unchanged.get(deploymentId)
      if (last?.text !== text) {
        unchanged.set(deploymentId, { text, since: Date.now() })
        return observation
      }
      const elapsed = Date.now() - last.since
      const isUnlisted = observation.phase === 'starting' && observation.message === notYetListed
      if (isUnlisted && elapsed > Math.min(maxUnlistedMs, stallMs)) return { phase: 'absent' }
      if (elapsed <= stallMs) return observation
      const minutes = Math.max(1, Math.round(stallMs / 60_000))
      const message = `No progress for ${minutes} minutes. Last state: ${observation.message.replace(/\.$/, '')}.`
      return observation.phase === 'downloading'
        ? { phase: 'failed', stage: 'model_download', code: 'download_failed', message }
        : { phase: 'failed', stage: 'health_check', code: 'readiness_timeout', message }
    },

    isUnreachable: (deploymentId) => unreachableSince.has(deploymentId),

    recordUnreachable(deploymentId, message) {
      const since = unreachableSince.get(deploymentId) ?? new Date()
      unreachableSince.set(deploymentId, since)
      return { phase: 'unreachable', message, since }
    },

    clear(deploymentId) {
      unchanged.delete(deploymentId)
      unreachableSince.delete(deploymentId)
    },
  }
}
