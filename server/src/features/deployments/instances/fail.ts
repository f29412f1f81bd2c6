import type { DatabaseTransaction } from '../../../database/tables.ts'
import type { FailureCode, FailureStage } from '../../../ports/model-runtime.ts'
import { queueAlert } from '../../mail/alerts/queue-alert.ts'
import type { Deployment } from '../store.ts'
import { moveInstance } from './step.ts'
import type { StepContext, StepResult } from './step.ts'

/** Why and at which stage an instance fails. */
export interface InstanceFailure {
  stage: FailureStage
  code: FailureCode
  message: string
}

/** Fails the deployment because this instance can't serve, with an alert and `alsoAlert`. The following steps release the instance. */
export async function failInstance(
  context: StepContext,
  failure: InstanceFailure,
  alsoAlert?: (transaction: DatabaseTransaction) => Promise<void>,
): Promise<StepResult> {
  const { deps, deployment, instance } = context
  const { status: from } = instance
  if (from === 'releasing' || from === 'released') throw new Error(`an instance that is ${from} can't fail`)
  const reason = `${failure.code}: ${failure.message}`
  const next = await moveInstance(
    context,
    { from, to: 'releasing' },
    {
      columns: { engine_url: null },
      deployment: { failure_stage: failure.stage, failure_reason: reason },
      event: { stage: failure.stage, message: reason },
      async hook(transaction) {
        await alsoAlert?.(transaction)
        const data = { ...toAlerted(deployment), failure_stage: failure.stage, failure_reason: reason }
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
