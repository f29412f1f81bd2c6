import type { EngineObservation } from '../../../ports/model-runtime.ts'
import { notListed } from './observe.ts'

/**
 * How long each deployment has stood still or been out of reach, as far as this process saw it: a process that starts anew begins
 * to count anew.
 */
export interface Patience {
  /** Turns a download or a start that has shown no progress for too long into a failure */
  judge(deploymentId: string, seen: EngineObservation): EngineObservation
  /** True from `endure` on until it is in reach again */
  isEnduring(deploymentId: string): boolean
  /** What is seen of a deployment whose supervisor is out of reach */
  endure(deploymentId: string, message: string): EngineObservation
  forget(deploymentId: string): void
}

/** A model that is said to be ready and is not there for so long is gone. */
const unlistedMs = 30_000

export function createPatience(stallMs: number): Patience {
  const still = new Map<string, { seen: string; since: number }>()
  const outOfReach = new Map<string, Date>()

  return {
    judge(deploymentId, seen) {
      outOfReach.delete(deploymentId)
      if (seen.phase !== 'downloading' && seen.phase !== 'starting') {
        still.delete(deploymentId)
        return seen
      }
      const text = JSON.stringify(seen)
      const last = still.get(deploymentId)
      if (last?.seen !== text) {
        still.set(deploymentId, { seen: text, since: Date.now() })
        return seen
      }
      const elapsed = Date.now() - last.since
      if (
        seen.phase === 'starting' &&
        seen.message === notListed &&
        elapsed > Math.min(unlistedMs, stallMs)
      ) {
        return { phase: 'absent' }
      }
      if (elapsed <= stallMs) return seen
      const duration = `${Math.max(1, Math.round(stallMs / 60_000))} minutes`
      const message = `Nothing has moved for ${duration}: ${seen.message.replace(/\.$/, '')}.`
      return seen.phase === 'downloading'
        ? { phase: 'failed', stage: 'model_download', code: 'download_failed', message }
        : { phase: 'failed', stage: 'health_check', code: 'readiness_timeout', message }
    },

    isEnduring: (deploymentId) => outOfReach.has(deploymentId),

    endure(deploymentId, message) {
      const since = outOfReach.get(deploymentId) ?? new Date()
      outOfReach.set(deploymentId, since)
      return { phase: 'unreachable', message, since }
    },

    forget(deploymentId) {
      still.delete(deploymentId)
      outOfReach.delete(deploymentId)
    },
  }
}
