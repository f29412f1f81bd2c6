import type { DatabaseTransaction } from '../../../database/tables.ts'
import type { Services } from '../../../services.ts'
import type { Actor, Viewer } from '../../../base/viewer.ts'
import { recordAction } from '../../audit/record-action.ts'
import { updateOwnDeployment } from '../state/change-store.ts'
import { describeTarget } from '../state/audit-target.ts'
import { toWaitingColumns } from '../state/waiting.ts'
import { accessDeployment } from '../state/access-deployment.ts'
import type { DeploymentReference } from '../state/access-deployment.ts'
import { getDeployment } from '../state/store.ts'
import type { Deployment } from '../state/store.ts'

/** Starts terminating a deployment from any status. Does nothing if it is terminating or terminated. */
export async function terminateDeployment(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  reference: DeploymentReference,
): Promise<Deployment> {
  const deployment = await accessDeployment({ db }, viewer, 'terminate', reference)
  const reason = `Termination requested by ${viewer.name}.`
  return db
    .transaction()
    .execute((transaction) => terminateWithin(transaction, viewer, deployment.id, { reason, at: clock() }))
}

/** Terminates a deployment within a transaction. The caller must have checked the actor's rights. */
export async function terminateWithin(
  transaction: DatabaseTransaction,
  actor: Actor,
  id: string,
  { reason, at }: { reason: string; at: Date },
): Promise<Deployment> {
  for (;;) {
    const deployment = await getDeployment(transaction, id)
    const { status, organization_id: organizationId } = deployment
    if (status === 'terminating' || status === 'terminated') return deployment
    const moved = await updateOwnDeployment(
      transaction,
      { id, status },
      { desired_state: 'ended', status: 'terminating', ...toWaitingColumns(null) },
      {
        stage: 'termination',
        message: reason,
        change: { user_id: actor.userId, before: {}, after: {} },
      },
      at,
    )
    if (moved === undefined) continue
    await releaseInstances(transaction, id, at)
    const action = { ...(await describeTarget(transaction, actor, deployment)), organizationId }
    await recordAction(transaction, actor, 'deployment.terminated', action)
    return moved
  }
}

/** Has all instances released. The worker with the lease can't write anymore: the status has changed. */
async function releaseInstances(
  transaction: DatabaseTransaction,
  deploymentId: string,
  at: Date,
): Promise<void> {
  await transaction
    .updateTable('instances')
    .set({ status: 'releasing', engine_url: null, updated_at: at, status_changed_at: at, due_at: null })
    .set(toWaitingColumns(null))
    .where('deployment_id', '=', deploymentId)
    .where('status', '<>', 'released')
    .execute()
}
