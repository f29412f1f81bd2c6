import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { confirmEmail } from './confirm-email.ts'
import { forgetNetworks } from './known-networks.ts'
import { leaveSharedOrganization } from './leave-shared-organization.ts'
import { deleteCredentials, lockUserByEmail } from './store.ts'

/**
 * Returns the user id of the account with this email, for a caller who just proved to own the email; null without an account.
 * An attacker may have registered an email that was never proven. Its password and sessions are then deleted, and an
 * organization with other people in it is replaced.
 */
export async function claimAccount(
  deps: Pick<Services, 'jobs' | 'clock' | 'config'>,
  transaction: DatabaseTransaction,
  email: string,
  at: Date,
): Promise<number | null> {
  const user = await lockUserByEmail(transaction, email)
  if (user === undefined) return null
  if (user.email_verified_at === null) {
    await deleteCredentials(transaction, user.id, at)
    await forgetNetworks(transaction, user.id)
    await confirmEmail(transaction, user.id, at)
    await leaveSharedOrganization(deps, transaction, user, at)
  }
  return user.id
}
