import { notify } from '../../../database/notifications.ts'
import type { Database, DatabaseTransaction } from '../../../database/tables.ts'
import type { Actor } from '../../../base/viewer.ts'
import { recordAction } from '../../audit/record-action.ts'
import { listLiveInstances } from '../state/instance-store.ts'
import { isActive } from '../state/lifecycle.ts'
import type { Deployment } from '../state/store.ts'
import { terminateWithin } from './terminate.ts'

/** The deployments of one member in one organization, or of a whole organization. */
export interface DeploymentScope {
  organizationId: number
  userId?: number | undefined
}

function listUnterminated(db: Database, { organizationId, userId }: DeploymentScope): Promise<Deployment[]> {
  return db
    .selectFrom('deployments')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('status', 'not in', ['terminating', 'terminated'])
    .$if(userId !== undefined, (query) => query.where('user_id', '=', userId!))
    .orderBy('id')
    .execute()
}

/** The deployments that are running or starting, with the type of their oldest instance. */
export async function listActiveDeployments(
  db: Database,
  scope: DeploymentScope,
): Promise<(Deployment & { selected_instance_type: string | null })[]> {
  const active = (await listUnterminated(db, scope)).filter(({ status }) => isActive(status))
  const instances = await listLiveInstances(
    db,
    active.map(({ id }) => id),
  )
  return active.map((deployment) => ({
    ...deployment,
    selected_instance_type: instances.get(deployment.id)?.[0]?.instance_type ?? null,
  }))
}

/** Terminates deployments, failed ones included. `reason` is a sentence for their histories. */
export async function terminateDeployments(
  transaction: DatabaseTransaction,
  actor: Actor,
  scope: DeploymentScope,
  { reason, at }: { reason: string; at: Date },
): Promise<void> {
  for (const { id } of await listUnterminated(transaction, scope)) {
    await terminateWithin(transaction, actor, id, { reason, at })
  }
}

/** Gives a member's deployments to another member. The organization keeps paying. Shared aliases stay. */
export async function transferDeployments(
  transaction: DatabaseTransaction,
  actor: Actor,
  scope: DeploymentScope & { userId: number },
  recipient: { userId: number; name: string; email: string },
  at: Date,
): Promise<void> {
  const { organizationId } = scope
  const owned = await listUnterminated(transaction, { organizationId, userId: recipient.userId })
  for (const deployment of await listUnterminated(transaction, scope)) {
    const { id, status, model_name: model, alias } = deployment
    // An alias that the recipient's requests don't know yet could take over one of their names.
    const isKnown = deployment.shared_with !== null && owned.every((own) => own.alias !== deployment.alias)
    await transaction
      .updateTable('deployments')
      .set({
        user_id: recipient.userId,
        updated_at: at,
        ...(isKnown ? {} : { alias: null, alias_order: null }),
      })
      .where('id', '=', id)
      .execute()
    const message = `Transferred to ${recipient.name}.`
    await transaction
      .insertInto('deployment_events')
      .values({ deployment_id: id, at, status, stage: null, message })
      .execute()
    await notify(transaction, 'deployment_event', id)
    await recordAction(transaction, actor, 'deployment.transferred', {
      organizationId: scope.organizationId,
      target: { type: 'deployment', id, name: alias ?? model },
      details: { to: recipient.email },
    })
  }
}
