import type { EngineObservation } from '../../../ports/model-runtime.ts'
import { notYetListed } from './observe.ts'

/** Tracks how long a deployment has been stalled. Kept in memory, so a restart of Berth resets it. */
export interface ProgressTracker {
  /** Records an observation and returns it, or a failure if the download or start has stalled. Marks losses. */
  record(deploymentId: string, observation: EngineObservation): EngineObservation
  clear(deploymentId: string): void
}

/** A model whose instance is READY counts as absent if Xinference does not list it for this long. */
const maxUnlistedMs = 30_000

export function createProgressTracker(stallMs: number): ProgressTracker {
  const unchanged = new Map<string, { text: string; since: number }>()

  return {
    record(deploymentId, observation) {
      if (observation.phase === 'absent' || isCrash(observation)) {
        unchanged.delete(deploymentId)
        return { ...observation, lostAt: 'unknown' }
      }
      if (observation.phase !== 'downloading' && observation.phase !== 'starting') {
        unchanged.delete(deploymentId)
        return observation
      }
      const isUnlisted = observation.phase === 'starting' && observation.message === notYetListed
      const text = JSON.stringify(observation)
      const last = unchanged.get(deploymentId)
      if (last?.text !== text) {
        unchanged.set(deploymentId, { text, since: Date.now() })
        return isUnlisted ? { ...observation, lostAt: 'unknown' } : observation
      }
      const elapsed = Date.now() - last.since
      if (isUnlisted) {
        const isAbsent = elapsed > Math.min(maxUnlistedMs, stallMs)
        return { ...(isAbsent ? { phase: 'absent' } : observation), lostAt: 'unknown' }
      }
      if (elapsed <= stallMs) return observation
      const minutes = Math.max(1, Math.round(stallMs / 60_000))
      const message = `No progress for ${minutes} minutes. Last state: ${observation.message.replace(/\.$/, '')}.`
      return observation.phase === 'downloading'
        ? { phase: 'failed', stage: 'model_download', code: 'download_failed', message }
        : { phase: 'failed', stage: 'health_check', code: 'readiness_timeout', message }
    },

    clear: (deploymentId) => void unchanged.delete(deploymentId),
  }
}

/** True if Xinference dropped the model, so that it holds nothing for the deployment until the next launch. */
function isCrash(observation: EngineObservation): boolean {
  return observation.phase === 'failed' && observation.code === 'engine_crashed'
}
