import type { EngineFailure, FailureCode } from '../../../ports/engine-failures.ts'
import { longestPause } from '../state/recovery.ts'
import type { Recovery } from '../state/recovery.ts'

const second = 1_000
const minute = 60 * second

/** So long a first start is tried again. */
const firstStartPatience = minute
/** The pause from which on Berth releases the hardware */
const longPause = minute
/** After so long without success, the deployment sleeps. */
const outagePatience = 60 * minute
/** So long a deployment must serve before its failures no longer count. */
const goodTime = 10 * minute

/** Failures of a first start that may pass by themselves: of a program, a provider, a registry or a port */
const passingCodes: ReadonlySet<FailureCode> = new Set([
  'engine_crashed',
  'engine_unreachable',
  'instance_lost',
  'provider_error',
  'download_failed',
])

/** What follows a failure. */
export type Attempt =
  /** Starts again at `recovery.next_at`; `isNew`: the first attempt of an episode */
  | { outcome: 'retry'; recovery: Recovery; isNew: boolean; keepsHardware: boolean }
  /** A request or a person tries again */
  | { outcome: 'sleep'; recovery: Recovery }
  | { outcome: 'fail' }

/**
 * Plans what follows a failure of a deployment without another instance. `hasServed`: at any time. One that
 * has is tried again at once, then after 1 s, doubling to 5 min, until it sleeps after an hour. A first start
 * is tried again for a minute, if the failure may pass.
 */
export function planAttempt(
  recovery: Recovery | null,
  { stage, code, message }: EngineFailure,
  now: Date,
  hasServed: boolean,
): Attempt {
  const known = isEpisodeOver(recovery, now) ? null : recovery
  const since = known === null || known.served_at !== null ? now : new Date(known.since)
  const attempts = known?.attempts ?? 0
  const pause = attempts === 0 ? 0 : Math.min(second * 2 ** (attempts - 1), longestPause)
  const down = now.getTime() - since.getTime()
  const next = (wait: number): Recovery => ({
    since: since.toISOString(),
    attempts: attempts + 1,
    next_at: new Date(now.getTime() + wait).toISOString(),
    served_at: null,
    cause: { stage, code, message },
    ...(known?.most !== undefined && { most: known.most }),
  })
  if (!hasServed && (!passingCodes.has(code) || down + pause > firstStartPatience)) return { outcome: 'fail' }
  if (hasServed && down >= outagePatience) return { outcome: 'sleep', recovery: next(longestPause) }
  return {
    outcome: 'retry',
    recovery: next(pause),
    isNew: known === null,
    keepsHardware: pause < longPause,
  }
}

/** True without failures in the last ten minutes that the deployment served. */
export function isEpisodeOver(recovery: Recovery | null, now: Date): boolean {
  if (recovery === null) return true
  return recovery.served_at !== null && now.getTime() - Date.parse(recovery.served_at) >= goodTime
}
