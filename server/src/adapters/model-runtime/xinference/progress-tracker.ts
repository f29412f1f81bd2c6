import type { EngineObservation } from '../../../ports/model-runtime.ts'
import type { ModelObservation } from './observe.ts'

/** Tracks how long an engine has been stalled. Kept in memory, so a restart of Berth resets it. */
export interface ProgressTracker {
  /** Returns the observation, or a failure if it stalls (a download: for `downloadMs`). Marks losses. */
  record(engineId: string, observation: ModelObservation, downloadMs: number): EngineObservation
  clear(engineId: string): void
}

/** A model whose instance is READY counts as absent if Xinference does not list it for this long. */
const maxUnlistedMs = 30_000

export function createProgressTracker(usualStallMs: number): ProgressTracker {
  const unchanged = new Map<string, { text: string; since: number }>()

  /** Records an observation and returns the milliseconds since it was first made. */
  function measure(engineId: string, observation: ModelObservation): number {
    const text = JSON.stringify(observation)
    const last = unchanged.get(engineId)
    // Not the time of day: neither a step of the clock nor a suspended machine makes a model stall.
    const now = performance.now()
    if (last?.text === text) return now - last.since
    unchanged.set(engineId, { text, since: now })
    return 0
  }

  return {
    record(engineId, observation, downloadMs) {
      const stallMs = usualStallMs + downloadMs
      switch (observation.phase) {
        case 'unlisted':
          return toUnlisted(measure(engineId, observation) > Math.min(maxUnlistedMs, usualStallMs))
        case 'downloading':
        case 'starting':
          return measure(engineId, observation) > stallMs ? toStalled(observation, stallMs) : observation
        default:
          unchanged.delete(engineId)
          return isLoss(observation) ? { ...observation, lostAt: 'unknown' } : observation
      }
    },

    clear: (engineId) => void unchanged.delete(engineId),
  }
}

function toUnlisted(isAbsent: boolean): EngineObservation {
  if (isAbsent) return { phase: 'absent', lostAt: 'unknown' }
  const message = 'The model is ready and waits to be listed by Xinference.'
  return { phase: 'starting', message, lostAt: 'unknown' }
}

function toStalled(
  { phase, message: lastMessage }: Extract<EngineObservation, { phase: 'downloading' | 'starting' }>,
  stallMs: number,
): EngineObservation {
  const minutes = Math.max(1, Math.round(stallMs / 60_000))
  const message = `No progress for ${minutes} minutes. Last state: ${lastMessage.replace(/\.$/, '')}.`
  return phase === 'downloading'
    ? { phase: 'failed', stage: 'model_download', code: 'download_failed', message }
    : { phase: 'failed', stage: 'health_check', code: 'readiness_timeout', message }
}

/** True if Xinference holds nothing for the engine, because it dropped the model or never had it. */
function isLoss(
  observation: EngineObservation,
): observation is Extract<EngineObservation, { phase: 'absent' | 'failed' }> {
  return (
    observation.phase === 'absent' ||
    (observation.phase === 'failed' && observation.code === 'engine_crashed')
  )
}
