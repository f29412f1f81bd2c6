import { closeInstanceSpan } from '../../metering/spans.ts'
import { transitionDeployment, updateDeployment } from '../change-store.ts'
import { saveEngineLog } from '../engine-log.ts'
import { pollDelay, recordChanges, timeInStatus } from './step.ts'
import type { ReconcileContext, StepResult } from './step.ts'

/** The step for `failed`: saves the engine log and releases the instance. The deployment stays visible to its owner. */
export async function releaseFailed(context: ReconcileContext): Promise<StepResult> {
  const { deployment, lease, deps } = context
  const hasInstance = deployment.instance_started_at !== null && deployment.instance_released_at === null
  // An instance that was lost counts as released, but its pod's log may still be readable.
  if (deployment.instance_started_at !== null) await saveEngineLog(deps, deployment)
  if (!(await deps.runtime.release(deployment.id, deployment.cluster_id)))
    return { waitMilliseconds: getReleaseDelay(context) }
  if (hasInstance) {
    const event = { stage: 'termination', message: `Instance ${deployment.instance_id} was released.` }
    const at = deps.clock()
    await updateDeployment(
      deps.db,
      lease,
      deployment.status,
      { instance_released_at: at, waiting: null },
      event,
      at,
      (transaction) => closeInstanceSpan(transaction, deployment, at),
    )
  } else if (deployment.waiting_for !== null) {
    await recordChanges(context, { waiting: null }, null)
  }
  return { waitMilliseconds: null }
}

/** The step for `terminating`: saves the engine log, releases all resources, and moves to `terminated` once the runtime confirms. */
export async function terminate(context: ReconcileContext): Promise<StepResult> {
  const { deployment, lease, deps } = context
  if (deployment.instance_started_at !== null) await saveEngineLog(deps, deployment)
  if (!(await deps.runtime.release(deployment.id, deployment.cluster_id)))
    return { waitMilliseconds: getReleaseDelay(context) }
  const at = deps.clock()
  const hadCleanupFailure = deployment.failure_stage === 'termination'
  const next = await transitionDeployment(
    deps.db,
    { id: deployment.id, from: 'terminating', to: 'terminated', lease, at },
    {
      terminated_at: at,
      reconcile_at: null,
      ...(deployment.instance_started_at !== null && deployment.instance_released_at === null
        ? { instance_released_at: at }
        : {}),
      ...(hadCleanupFailure ? { failure_stage: null, failure_reason: null } : {}),
    },
    { stage: null, message: 'All resources were released.' },
    (transaction) => closeInstanceSpan(transaction, deployment, at),
  )
  return { next }
}

/** Polls often at first, then less often: a pod with a long grace period takes a while to stop. */
function getReleaseDelay(context: ReconcileContext): number {
  return Math.min(Math.max(timeInStatus(context) / 20, pollDelay.stopping), pollDelay.running)
}
