import type { EngineFailure } from '../../../ports/engine-failures.ts'
import type { ServingCapacity } from '../../../ports/runtime-engine.ts'
import { startingStatuses } from './lifecycle.ts'
import type { DeploymentStatus } from './lifecycle.ts'

/** What a deployment does after a failure. Times are ISO 8601. */
export interface Recovery {
  /** When it stopped to serve, or first failed to start */
  since: string
  /** Attempts in a row; ten good minutes end the row */
  attempts: number
  /** The next attempt, of a sleeping one by a request; null while it serves, or is woken for one attempt */
  next_at: string | null
  /** When it served again; null until then */
  served_at: string | null
  /** The last failure */
  cause: EngineFailure
  /** What the next start has at most, after an engine ran out of memory */
  most?: ServingCapacity | undefined
}

/** The longest pause before an attempt, in milliseconds */
export const longestPause = 300_000

/** Milliseconds until the next attempt; 0 if it is due. */
export function findPause(recovery: Recovery | null, now: Date): number {
  if (recovery?.next_at == null) return 0
  const pause = Date.parse(recovery.next_at) - now.getTime()
  // A clock that was set back must not prolong the pause.
  return pause > longestPause ? 0 : Math.max(0, pause)
}

/** A deployment's status, and what follows its failures */
interface RecoveryState {
  status: DeploymentStatus
  recovery: Recovery | null
}

/** True while a deployment that doesn't serve is started again by itself. */
export function isRecovering({ status, recovery }: RecoveryState): boolean {
  return startingStatuses.includes(status) && recovery?.next_at != null
}

/** True if a deployment fell asleep because it could not be started. */
export function hasGivenUp({ status, recovery }: RecoveryState): boolean {
  return status === 'sleeping' && recovery !== null && recovery.served_at === null
}

/** The recovery of a deployment that serves again at `at`. */
export function endOutage(recovery: Recovery | null, at: Date): Recovery | null {
  if (recovery === null) return null
  return { ...recovery, next_at: null, served_at: recovery.served_at ?? at.toISOString() }
}

/** `The next attempt is at 14:03:05 UTC.` */
export function describeNextAttempt({ next_at: nextAt }: Recovery): string {
  return nextAt === null ? '' : `The next attempt is at ${nextAt.slice(11, 19)} UTC.`
}
