import { closeInstanceSpan } from '../../metering/spans.ts'
import { moveDeployment, updateDeployment } from '../change-store.ts'
import { forgetEngineLog, keepEngineLog } from '../engine-log.ts'
import { pause, record, timeInStatus } from './step.ts'
import type { Look, Taken } from './step.ts'

/** `failed`: releases the instance; the deployment stays, for its owner to see. */
export async function giveBack(look: Look): Promise<Taken> {
  const { deployment, lease, world } = look
  const hasInstance = deployment.instance_started_at !== null && deployment.instance_released_at === null
  if (hasInstance) await keepEngineLog(world, deployment)
  if (!(await world.runtime.release(deployment.id, deployment.cluster_id)))
    return { waitMilliseconds: pauseWhileReleasing(look) }
  if (hasInstance) {
    const event = { stage: 'termination', message: `Instance ${deployment.instance_id} was given back.` }
    const at = world.clock()
    await updateDeployment(
      world.db,
      lease,
      deployment.status,
      { instance_released_at: at, status_message: null },
      event,
      at,
      (transaction) => closeInstanceSpan(transaction, deployment, at),
    )
  } else if (deployment.status_message !== null) {
    await record(look, { status_message: null }, null)
  }
  return { waitMilliseconds: null }
}

/** `terminating`: releases whatever is held, and only then says `terminated`. */
export async function terminate(look: Look): Promise<Taken> {
  const { deployment, lease, world } = look
  if (!(await world.runtime.release(deployment.id, deployment.cluster_id)))
    return { waitMilliseconds: pauseWhileReleasing(look) }
  const at = world.clock()
  const cleanedUp = deployment.failure_stage === 'termination'
  const next = await moveDeployment(
    world.db,
    { id: deployment.id, from: 'terminating', to: 'terminated', lease, at },
    {
      terminated_at: at,
      status_message: null,
      reconcile_at: null,
      ...(deployment.instance_started_at !== null && deployment.instance_released_at === null
        ? { instance_released_at: at }
        : {}),
      ...(cleanedUp ? { failure_stage: null, failure_reason: null } : {}),
    },
    { stage: null, message: 'Everything that it held was given back.' },
    async (transaction) => {
      await closeInstanceSpan(transaction, deployment, at)
      await forgetEngineLog(transaction, deployment)
    },
  )
  return { next }
}

/** A quick end is seen at once; a pod with its grace period, or a stuck one, is asked for every few seconds. */
function pauseWhileReleasing(look: Look): number {
  return Math.min(Math.max(timeInStatus(look) / 20, pause.stopping), pause.running)
}
