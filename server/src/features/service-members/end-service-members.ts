import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Actor } from '../../base/viewer.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { markServiceDeleted } from '../accounts/service-accounts.ts'
import { recordAction } from '../audit/record-action.ts'
import { listMembers } from '../organizations/members.ts'
import type { Member } from '../organizations/members.ts'
import { deleteMembership } from '../organizations/memberships.ts'
import { deleteSessions } from '../sessions/delete-sessions.ts'

/** Ends the account of a service member that is no longer one. */
export async function endServiceAccount(
  transaction: DatabaseTransaction,
  userId: number,
  at: Date,
): Promise<void> {
  await transaction.deleteFrom('service_passwords').where('user_id', '=', userId).execute()
  await deleteSessions(transaction, userId)
  await markServiceDeleted(transaction, userId, at)
}

/** Locks the service members' accounts. Callers that also lock the memberships do so afterwards. */
export async function lockServiceAccounts(
  transaction: DatabaseTransaction,
  organizationId: number,
): Promise<void> {
  for (const { user_id: userId } of await listServices(transaction, organizationId)) {
    await lockAccount(transaction, userId)
  }
}

/** Ends all service members of an organization that closes. Their deployments are the caller's to end. */
export async function endServiceMembers(
  transaction: DatabaseTransaction,
  actor: Actor,
  organizationId: number,
  at: Date,
): Promise<void> {
  for (const { id, user_id: userId, email, role } of await listServices(transaction, organizationId)) {
    await deleteMembership(transaction, id)
    await endServiceAccount(transaction, userId, at)
    await recordAction(transaction, actor, 'member.removed', {
      organizationId,
      target: { type: 'member', id, name: email },
      details: { role, deployments: 'end' },
    })
  }
}

async function listServices(transaction: DatabaseTransaction, organizationId: number): Promise<Member[]> {
  const members = await listMembers(transaction, organizationId)
  return members.filter(({ allowed_networks }) => allowed_networks !== null)
}
