import type { DatabaseTransaction } from '../../../database/tables.ts'
import type { FailureCode, FailureStage } from '../../../ports/engine-failures.ts'
import { queueAlert } from '../../alerts/queue-alert.ts'
import { beginTransition } from '../state/event-transition.ts'
import { addRefusal } from '../changes/refusal.ts'
import { findServedSettings } from '../state/resize.ts'
import type { Deployment } from '../state/store.ts'
import { planRestart } from './restart-plan.ts'
import { changeInstance, moveInstance } from './step.ts'
import type { StepContext, StepResult } from './step.ts'

/** Why and at which stage an instance fails. */
export interface InstanceFailure {
  stage: FailureStage
  code: FailureCode
  message: string
}

/** Refusals of hardware, after which a deployment that has served sleeps on instead of failing */
const refusalCodes: ReadonlySet<FailureCode> = new Set([
  'no_capacity',
  'quota_exceeded',
  'budget_exhausted',
  'provision_timeout',
])

/**
 * Decides what follows when an instance can't serve: the one place that does. A lost engine restarts a few
 * times. A deployment that served with other settings gets them back. A woken one without hardware returns to
 * sleep. One with other instances goes on, and the autoscaler asks again later. Others fail, with an alert and
 * `alsoAlert`.
 */
export async function failInstance(
  context: StepContext,
  failure: InstanceFailure,
  alsoAlert?: (transaction: DatabaseTransaction) => Promise<void>,
): Promise<StepResult> {
  const { deps, deployment, instance } = context
  const { status: from } = instance
  if (from === 'releasing' || from === 'released') throw new Error(`an instance that is ${from} can't fail`)
  const { stage } = failure
  const hasEngine = from === 'deploying' || from === 'running'
  const restart = hasEngine ? planRestart(instance, failure.code, deps.clock()) : null
  if (restart !== null) {
    const message = `${failure.message} Restarting the engine.`
    const next = await changeInstance(context, {
      columns: { ...restart.counts, engine_url: null },
      waiting: { for: 'stop', message },
      event: restart.isNews ? { stage, message } : null,
    })
    return { next }
  }
  const refusal = { code: failure.code, message: failure.message }
  const others = countOthers(context)
  const served = findServedSettings(context.pass.deployment, instance)
  // Other hardware may be free later, but until then only a present instance serves.
  const mayWait = refusalCodes.has(failure.code) && (others > 0 || failure.code === 'budget_exhausted')
  if (served !== null && deployment.desired_state !== 'ended' && !mayWait) {
    const message = `${failure.message} The deployment has the settings again with which it served last.`
    const next = await moveInstance(
      context,
      { from, to: 'releasing' },
      { columns: { engine_url: null }, deployment: served, event: { stage, message }, hook: alsoAlert },
    )
    return { next }
  }
  if (others > 0) {
    const { refusals } = context.pass.deployment
    const message = `${failure.message} The other instances go on.`
    const next = await moveInstance(
      context,
      { from, to: 'releasing' },
      {
        columns: { engine_url: null },
        deployment: {
          desired_instances: others,
          ...addRefusal(context.pass.deployment, refusal, deps.clock()),
        },
        event: refusals === 0 ? { stage, message } : null,
        hook: refusals === 0 ? alsoAlert : undefined,
      },
    )
    return { next }
  }
  if (isRefusedWake(context, failure)) {
    const at = deps.clock()
    const event = {
      stage,
      message: `${failure.message} The deployment sleeps on.`,
      transition: beginTransition('sleep', { cause: 'refusal' }, null, at),
    }
    const refused = addRefusal(context.pass.deployment, refusal, at)
    const deployment = { desired_state: 'asleep', ...refused } as const
    const change = { columns: { engine_url: null }, deployment, event, hook: alsoAlert }
    return { next: await moveInstance(context, { from, to: 'releasing' }, change) }
  }
  const reason = `${failure.code}: ${failure.message}`
  const next = await moveInstance(
    context,
    { from, to: 'releasing' },
    {
      columns: { engine_url: null },
      deployment: { failure_stage: stage, failure_reason: reason },
      event: { stage, message: reason },
      async hook(transaction) {
        await alsoAlert?.(transaction)
        const data = { ...toAlerted(deployment), failure_stage: stage, failure_reason: reason }
        await queueAlert(deps, transaction, deployment.organization_id, { type: 'deployment.failed', data })
      },
    },
  )
  return { next }
}

/** What alerts say about a deployment. */
export function toAlerted({ id, user_id: userId, model_name: modelName }: Deployment) {
  return { deployment_id: id, user_id: userId, model_name: modelName }
}

/** The other instances that serve or may, while the deployment is to be awake */
function countOthers({ pass, instance }: StepContext): number {
  if (pass.deployment.desired_state !== 'awake') return 0
  return pass.instances.filter(({ id, status }) => id !== instance.id && status !== 'releasing').length
}

function isRefusedWake({ deployment, instance }: StepContext, { code }: InstanceFailure): boolean {
  const { woken_at: wokenAt, desired_state } = deployment
  if (!refusalCodes.has(code) || desired_state !== 'awake' || wokenAt === null) return false
  return instance.started_at === null && instance.ready_at === null
}
