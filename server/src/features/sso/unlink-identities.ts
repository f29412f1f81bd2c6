import { NotFoundError } from '../../base/errors.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { lockExistingAccount } from '../accounts/lock-account.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { deleteSessions } from '../sessions/delete-sessions.ts'

/** Removes a user's links to identity providers. Returns their number. */
export async function unlinkIdentities(transaction: DatabaseTransaction, userId: number): Promise<number> {
  const removed = await transaction.deleteFrom('identities').where('user_id', '=', userId).executeTakeFirst()
  return Number(removed.numDeletedRows)
}

/**
 * Removes an account's links and sessions and emails its owner, so that the next owner of the email can link
 * theirs. Undefined without an account; throws `not_found` without a link.
 */
export async function resetIdentities(
  deps: Pick<Services, 'clock' | 'config' | 'jobs'>,
  transaction: DatabaseTransaction,
  userId: number,
): Promise<{ email: string; organizationId: number } | undefined> {
  const user = await lockExistingAccount(transaction, userId)
  if (user === undefined) return undefined
  if ((await unlinkIdentities(transaction, userId)) === 0)
    throw new NotFoundError('This account has no link.')
  await deleteSessions(transaction, userId)
  await queueMail(deps, transaction, { kind: 'identity_unlinked', subjectId: userId, recipient: user.email })
  return user
}
