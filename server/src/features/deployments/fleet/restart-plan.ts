import type { FailureCode } from '../../../ports/engine-failures.ts'
import type { Instance } from '../state/instance-store.ts'

/** So long after the last restart, earlier ones no longer count. */
const restartWindow = 10 * 60_000
const maxRestarts = 3

/** Failures that restarting the engine may fix. */
const retryableCodes: ReadonlySet<FailureCode> = new Set([
  'engine_crashed',
  'engine_unreachable',
  'instance_lost',
])

/** How to restart the engine of an instance. */
export interface RestartPlan {
  /** The columns that count this restart */
  counts: Pick<Instance, 'engine_restarts' | 'engine_restarted_at'>
  /** True if the history is to have the reason: the instance was running */
  isNews: boolean
}

/** Plans a restart, of at most three until ten minutes pass without one; null if the engine must fail. */
export function planRestart(
  instance: Pick<Instance, 'status' | 'engine_restarts' | 'engine_restarted_at'>,
  code: FailureCode,
  now: Date,
): RestartPlan | null {
  if (!retryableCodes.has(code)) return null
  const lastRestart = instance.engine_restarted_at?.getTime() ?? 0
  const restarts = now.getTime() - lastRestart < restartWindow ? instance.engine_restarts : 0
  if (restarts >= maxRestarts) return null
  return {
    counts: { engine_restarts: restarts + 1, engine_restarted_at: now },
    isNews: instance.status === 'running',
  }
}
