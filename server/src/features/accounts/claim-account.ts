import type { DatabaseTransaction } from '../../database/tables.ts'
import { confirmEmail } from './confirm-email.ts'
import { deleteCredentials, lockUserByEmail } from './store.ts'

/**
 * The account of an e-mail address for whoever was just proven to own the address, or null when it has none. Where nobody
 * had proven that before, password and sessions go: who registered somebody else's address must not keep a key.
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
