import { isDeepStrictEqual } from 'node:util'
import type { FailureCode, FailureStage } from '../../../ports/model-runtime.ts'
import type { DatabaseTransaction } from '../../../database/tables.ts'
import type { Services } from '../../../services.ts'
import { queueAlert } from '../../mail/alerts/queue-alert.ts'
import { transitionDeployment, updateDeployment } from '../change-store.ts'
import type { DeploymentChanges, EventContent, Lease } from '../change-store.ts'
import { findLastEvent } from '../store.ts'
import type { Deployment } from '../store.ts'
import { describeWaiting, toWaitingColumns } from '../waiting.ts'
import type { Waiting } from '../waiting.ts'

export type Deps = Pick<
  Services,
  'db' | 'clock' | 'observedTime' | 'log' | 'runtime' | 'config' | 'secretKey' | 'prices' | 'jobs'
>

/** Milliseconds between two polls of the runtime, by what the deployment waits for. */
export const pollDelay = { starting: 500, stopping: 250, running: 5_000 }

/** One pass of the reconciler over a leased deployment. */
export interface ReconcileContext {
  deps: Deps
  deployment: Deployment
  lease: Lease
  /** Milliseconds between two checks of a running deployment */
  checkInterval: number
}

/**
 * Either the delay until the next pass (null for none), or the updated row, whose next step runs immediately. `next: undefined`
 * means that another writer changed the row first.
 */
export type StepResult = { waitMilliseconds: number | null } | { next: Deployment | undefined }
export type Step = (context: ReconcileContext) => Promise<StepResult>

/** Why and at which stage a deployment fails. */
export interface DeploymentFailure {
  stage: FailureStage
  code: FailureCode
  message: string
}

/** Observed milliseconds since the deployment entered its current status. */
export function timeInStatus({ deployment, deps }: ReconcileContext): number {
  return deps.observedTime.between(deployment.status_changed_at, deps.clock())
}

/** Queues what else a failure or a change causes, in its transaction. */
type Alerting = (transaction: DatabaseTransaction) => Promise<void>

/** Moves a deployment to `failed`, with an alert and `alsoAlert`. The following steps release its instance. */
export async function failDeployment(
  { deps, deployment, lease }: ReconcileContext,
  failure: DeploymentFailure,
  alsoAlert?: Alerting,
): Promise<StepResult> {
  const { id, status, organization_id: organizationId } = deployment
  if (status === 'failed' || status === 'terminating' || status === 'terminated') {
    throw new Error(`a deployment that is ${status} can't fail`)
  }
  const reason = `${failure.code}: ${failure.message}`
  const next = await transitionDeployment(
    deps.db,
    { id, from: status, to: 'failed', lease, at: deps.clock() },
    { failure_stage: failure.stage, failure_reason: reason, engine_url: null },
    { stage: failure.stage, message: reason },
    async (transaction) => {
      await alsoAlert?.(transaction)
      const data = { ...toAlerted(deployment), failure_stage: failure.stage, failure_reason: reason }
      await queueAlert(deps, transaction, organizationId, { type: 'deployment.failed', data })
    },
  )
  return { next }
}

/** What alerts say about a deployment. */
export function toAlerted({ id, user_id: userId, model_name: modelName }: Deployment) {
  return { deployment_id: id, user_id: userId, model_name: modelName }
}

/** Records what a step waits for. Adds an event when the stage changes, and at most every ten seconds within a stage. */
export async function reportWaiting(
  context: ReconcileContext,
  stage: string,
  waiting: Waiting,
): Promise<void> {
  const { deployment, deps } = context
  const { waiting_for, status_message, progress } = deployment
  // What has not changed is not written, so `updated_at` tells since when the step waits.
  if (isDeepStrictEqual(toWaitingColumns(waiting), { waiting_for, status_message, progress })) return
  const last = await findLastEvent(deps.db, deployment.id)
  const isNews =
    last === undefined || last.stage !== stage || deps.clock().getTime() - last.at.getTime() > 10_000
  await recordChanges(context, { waiting }, isNews ? { stage, message: describeWaiting(waiting) } : null)
}

/** Updates the deployment without changing its status. Returns undefined if another writer changed it first. */
export async function recordChanges(
  { deps, deployment, lease }: ReconcileContext,
  changes: DeploymentChanges,
  event: EventContent | null,
  alert?: Alerting,
): Promise<Deployment | undefined> {
  return updateDeployment(deps.db, lease, deployment.status, changes, event, deps.clock(), alert)
}
