import type { EngineObservation } from '../../../ports/model-runtime.ts'
import { notYetListed } from './observe.ts'

/** Tracks how long a deployment has been stalled or unreachable. Kept in memory, so a restart of Berth resets it. */
export interface ProgressTracker {
  /**
   * Records an observation and returns it, or a failure if the download or start has stalled. Adds the time since when a lost model
   * may have been lost.
   */
  record(deploymentId: string, observation: EngineObservation): EngineObservation
  /** True from `recordUnreachable` until the next `record` */
  isUnreachable(deploymentId: string): boolean
  recordUnreachable(deploymentId: string, message: string): EngineObservation
  clear(deploymentId: string): void
}

/** A model whose instance is READY counts as absent if Xinference does not list it for this long. */
const maxUnlistedMs = 30_000
/** Unreachable deployments are checked every five seconds, each time by any of the workers. */
const maxCheckGapMs = 30_000

export function createProgressTracker(stallMs: number): ProgressTracker {
  const unchanged = new Map<string, { text: string; since: number; lostAt: Date }>()
  const unreachable = new Map<string, { since: Date; seenAt: number }>()

  return {
    record(deploymentId, observation) {
      const outage = unreachable.get(deploymentId)
      unreachable.delete(deploymentId)
      const isRecent = outage !== undefined && Date.now() - outage.seenAt < maxCheckGapMs
      const lostAt = isRecent ? outage.since : new Date()
      if (observation.phase === 'absent' || isCrash(observation)) {
        unchanged.delete(deploymentId)
        return { ...observation, lostAt }
      }
      if (observation.phase !== 'downloading' && observation.phase !== 'starting') {
        unchanged.delete(deploymentId)
        return observation
      }
      const isUnlisted = observation.phase === 'starting' && observation.message === notYetListed
      const text = JSON.stringify(observation)
      const last = unchanged.get(deploymentId)
      if (last?.text !== text) {
        unchanged.set(deploymentId, { text, since: Date.now(), lostAt })
        return isUnlisted ? { ...observation, lostAt } : observation
      }
      const elapsed = Date.now() - last.since
      if (isUnlisted) {
        const isAbsent = elapsed > Math.min(maxUnlistedMs, stallMs)
        return { ...(isAbsent ? { phase: 'absent' } : observation), lostAt: last.lostAt }
      }
      if (elapsed <= stallMs) return observation
      const minutes = Math.max(1, Math.round(stallMs / 60_000))
      const message = `No progress for ${minutes} minutes. Last state: ${observation.message.replace(/\.$/, '')}.`
      return observation.phase === 'downloading'
        ? { phase: 'failed', stage: 'model_download', code: 'download_failed', message }
        : { phase: 'failed', stage: 'health_check', code: 'readiness_timeout', message }
    },

    isUnreachable: (deploymentId) => unreachable.has(deploymentId),

    recordUnreachable(deploymentId, message) {
      const since = unreachable.get(deploymentId)?.since ?? new Date()
      unreachable.set(deploymentId, { since, seenAt: Date.now() })
      return { phase: 'unreachable', message, since }
    },

    clear(deploymentId) {
      unchanged.delete(deploymentId)
      unreachable.delete(deploymentId)
    },
  }
}

/** True if Xinference dropped the model, so that it holds nothing for the deployment until the next launch. */
function isCrash(observation: EngineObservation): boolean {
  return observation.phase === 'failed' && observation.code === 'engine_crashed'
}
