import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { eraseAccount } from '../accounts/erase-account.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { recordAction } from '../audit/record-action.ts'
import { closeAccount } from '../billing/processor/close-account.ts'
import { terminateDeployments } from '../deployments/changes/member-deployments.ts'
import { forgetKeys } from '../idempotency/keys.ts'
import { cancelInvitationsOf } from '../invitations/cancel-invitations-of.ts'
import { cancelOpenInvitations } from '../invitations/cancel-open-invitations.ts'
import { eraseRequests } from '../metering/request-log.ts'
import { closeOrganization } from '../organizations/close-organization.ts'
import {
  assertOtherSuperAdmin,
  deleteMembership,
  findMembership,
  isOnlyPerson,
  listOrganizationIds,
  lockMemberships,
} from '../organizations/memberships.ts'
import { deleteSecondFactors } from '../second-factors/delete-second-factors.ts'
import type { Reauthentication } from '../second-factors/reauthenticate.ts'
import { endServiceMembers, lockServiceAccounts } from '../service-members/end-service-members.ts'
import { deleteSessions } from '../sessions/delete-sessions.ts'
import { deleteLinks } from '../sign-in/delete-links.ts'
import { unlinkIdentities } from '../sso/unlink-identities.ts'
import { revokeOperator } from '../accounts/operator-grant.ts'
import { proveIdentity } from './prove-identity.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>

/** Closes one-person organizations too. Throws like `proveIdentity`, and `last_super_admin`. */
export async function deleteAccount(
  deps: Deps,
  viewer: Viewer,
  proof: Reauthentication | null,
): Promise<void> {
  const consume = await proveIdentity(deps, viewer, proof, 'user.deleted')
  const { db, clock } = deps
  const { userId, email } = viewer
  await db.transaction().execute(async (transaction) => {
    const at = clock()
    await lockAccount(transaction, userId)
    await consume(transaction)
    await revokeOperator(transaction, viewer, userId)
    for (const organizationId of await listOrganizationIds(transaction, userId)) {
      await leaveForever(transaction, viewer, organizationId, at)
    }
    await cancelInvitationsOf(transaction, viewer, userId, at)
    await unlinkIdentities(transaction, userId)
    await deleteSecondFactors(transaction, userId)
    await deleteSessions(transaction, userId)
    await deleteLinks(transaction, userId)
    await forgetKeys(transaction, userId)
    await eraseAccount(transaction, userId, at)
    await eraseRequests(transaction, { userId })
    await recordAction(transaction, viewer, 'user.deleted', {
      target: { type: 'user', id: userId, name: email },
    })
  })
}

async function leaveForever(
  transaction: DatabaseTransaction,
  viewer: Viewer,
  organizationId: number,
  at: Date,
): Promise<void> {
  const { userId } = viewer
  await lockServiceAccounts(transaction, organizationId)
  await lockMemberships(transaction, organizationId)
  const own = await findMembership(transaction, organizationId, { userId })
  if (own === undefined) return
  const isLast = await isOnlyPerson(transaction, own)
  if (!isLast) await assertOtherSuperAdmin(transaction, own)
  await deleteMembership(transaction, own.id)
  const reason = `Terminated because the account of ${own.name} was deleted.`
  const scope = isLast ? { organizationId } : { organizationId, userId }
  await terminateDeployments(transaction, viewer, scope, { reason, at })
  if (isLast) {
    await endServiceMembers(transaction, viewer, organizationId, at)
    await cancelOpenInvitations(transaction, organizationId, at)
    await closeAccount(transaction, organizationId, at)
    await closeOrganization(transaction, viewer, organizationId, at)
    await eraseRequests(transaction, { organizationId })
  }
  await recordAction(transaction, viewer, 'member.left', {
    organizationId,
    target: { type: 'member', id: own.id, name: own.email },
    details: { role: own.role },
  })
}
