import type { DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError } from '../../base/errors.ts'
import { roleCan } from '../../base/roles.ts'
import type { Services } from '../../services.ts'
import type { Actor, Viewer } from '../../base/viewer.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { moveToOtherOrganization } from '../accounts/move-to-other-organization.ts'
import type { AuditAction } from '../audit/actions.ts'
import { recordAction } from '../audit/record-action.ts'
import { denyTrial } from '../billing/limits/deny-trial.ts'
import {
  listActiveDeployments,
  terminateDeployments,
  transferDeployments,
} from '../deployments/changes/member-deployments.ts'
import { excludeFromDomain } from '../domains/domain-organization.ts'
import { cancelInvitationsOf } from '../invitations/cancel-invitations-of.ts'
import {
  assertOtherSuperAdmin,
  deleteMembership,
  findMembership,
  lockMemberships,
} from '../organizations/memberships.ts'
import type { Membership } from '../organizations/memberships.ts'
import { endServiceAccount } from '../service-members/end-service-members.ts'
import { lockManagedMember } from './manage-member.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config'>

/** The fate of the deployments of a removed member; null to refuse while some are active. */
export type HandOver = { deployments: 'end' } | { deployments: 'transfer'; to: number } | null

/** Removes a member from the viewer's organization. */
export function removeMember(deps: Deps, viewer: Viewer, id: number, handOver: HandOver): Promise<void> {
  return deps.db.transaction().execute(async (transaction) => {
    const member = await lockManagedMember(transaction, viewer, id)
    await endMembership(transaction, deps, viewer, member, 'member.removed', handOver)
  })
}

/** Ends the viewer's membership in their current organization. */
export function leaveOrganization(deps: Deps, viewer: Viewer, handOver: HandOver): Promise<void> {
  return deps.db.transaction().execute(async (transaction) => {
    await lockAccount(transaction, viewer.userId)
    await lockMemberships(transaction, viewer.organizationId)
    const own = await findMembership(transaction, viewer.organizationId, { userId: viewer.userId })
    if (own !== undefined) await endMembership(transaction, deps, viewer, own, 'member.left', handOver)
  })
}

/** Ends a membership whose account and organization are locked. */
async function endMembership(
  transaction: DatabaseTransaction,
  { clock, config }: Pick<Services, 'clock' | 'config'>,
  actor: Actor,
  member: Membership,
  action: Extract<AuditAction, 'member.removed' | 'member.left'>,
  handOver: HandOver,
): Promise<void> {
  const at = clock()
  await assertOtherSuperAdmin(transaction, member)
  // Before the listing of deployments: a concurrent request for one has committed or finds no membership.
  await deleteMembership(transaction, member.id)
  await cancelInvitationsOf(transaction, actor, member.userId, at)
  await handOverDeployments(transaction, actor, member, handOver, at)
  if (action === 'member.removed') await excludeFromDomain(transaction, member.organizationId, member.email)
  if (member.isService) {
    await endServiceAccount(transaction, member.userId, at)
  } else {
    const created = await moveToOtherOrganization(transaction, member, at)
    if (created !== null) await denyTrial(transaction, config, created, at)
  }
  await recordAction(transaction, actor, action, {
    organizationId: member.organizationId,
    target: { type: 'member', id: member.id, name: member.email },
    details: { role: member.role, deployments: handOver?.deployments ?? 'none' },
  })
}

async function handOverDeployments(
  transaction: DatabaseTransaction,
  actor: Actor,
  { userId, organizationId, name }: Membership,
  handOver: HandOver,
  at: Date,
): Promise<void> {
  const scope = { userId, organizationId }
  if (handOver?.deployments === 'transfer') {
    const recipient = await findMembership(transaction, organizationId, { userId: handOver.to })
    if (recipient === undefined || !roleCan(recipient.role, 'createDeployments')) {
      const message = 'Transfer the deployments to a member of the organization who may deploy.'
      throw new ApplicationError('invalid_recipient', message)
    }
    return transferDeployments(transaction, actor, scope, recipient, at)
  }
  const active = handOver === null ? await listActiveDeployments(transaction, scope) : []
  if (active.length > 0) {
    const message =
      'Some deployments of this member are active. Set `deployments` to `end` or `transfer` to choose what happens to them.'
    throw new ApplicationError('deployments_active', message, {
      facts: {
        deployment_ids: active.map(({ id }) => id),
        active_deployments: active.map(({ id, model_name, selected_instance_type, created_at }) => ({
          id,
          model_name,
          selected_instance_type,
          created_at: created_at.toISOString(),
        })),
      },
    })
  }
  await terminateDeployments(transaction, actor, scope, {
    reason: `Terminated because ${name} is no longer a member.`,
    at,
  })
}
