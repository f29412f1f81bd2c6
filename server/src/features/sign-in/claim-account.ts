import { serverActor } from '../../base/viewer.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { deletePassword } from '../accounts/account-password.ts'
import { markEmailVerified } from '../accounts/mark-email-verified.ts'
import { forgetNetworks } from '../accounts/known-networks.ts'
import { lockAccountByEmail } from '../accounts/lock-account.ts'
import { revokeOperator } from '../accounts/operator-grant.ts'
import { deleteSecondFactors } from '../second-factors/delete-second-factors.ts'
import { deleteSessions } from '../sessions/delete-sessions.ts'
import { leaveSharedOrganization } from './leave-shared-organization.ts'

/**
 * Returns the account's id for a caller who proved to own this email, or null. An attacker may have
 * registered an unverified email: password, factors and sessions are deleted, a shared organization replaced.
 */
export async function claimAccount(
  deps: Pick<Services, 'jobs' | 'clock' | 'config'>,
  transaction: DatabaseTransaction,
  email: string,
  at: Date,
): Promise<number | null> {
  const user = await lockAccountByEmail(transaction, email)
  if (user === undefined) return null
  if (user.email_verified_at === null) {
    await revokeOperator(transaction, serverActor, user.id)
    await deletePassword(transaction, user.id, at)
    await deleteSecondFactors(transaction, user.id)
    await deleteSessions(transaction, user.id)
    await forgetNetworks(transaction, user.id)
    await markEmailVerified(transaction, user.id, at)
    await leaveSharedOrganization(deps, transaction, user, at)
  }
  return user.id
}
