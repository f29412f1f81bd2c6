import type { DatabaseTransaction } from '../../database/tables.ts'
import { confirmEmail } from './confirm-email.ts'
import { deleteCredentials, lockUserByEmail } from './store.ts'

/**
 * Returns the user id of the account with this email, for a caller who just proved to own the email; null without an account.
 * If the email was never confirmed, the password and all sessions are deleted: an attacker may have registered it first.
 */
export async function claimAccount(
  transaction: DatabaseTransaction,
  email: string,
  at: Date,
): Promise<number | null> {
  const user = await lockUserByEmail(transaction, email)
  if (user === undefined) return null
  if (user.email_verified_at === null) {
    await deleteCredentials(transaction, user.id, at)
    await confirmEmail(transaction, user.id, at)
  }
  return user.id
}
