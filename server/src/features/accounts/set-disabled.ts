import type { DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError } from '../../base/errors.ts'

/** Disables an account, or enables it when `at` is null. Returns undefined if there is no such account. */
export async function setDisabled(
  transaction: DatabaseTransaction,
  userId: number,
  at: Date | null,
): Promise<{ email: string; organizationId: number } | undefined> {
  return transaction
    .updateTable('users')
    .set({ disabled_at: at })
    .where('id', '=', userId)
    .where('deleted_at', 'is', null)
    .returning(['email', 'current_organization_id as organizationId'])
    .executeTakeFirst()
}

/** Throws `account_disabled`. The lock lets a concurrent disabling also end the session that starts. */
export async function assertEnabled(transaction: DatabaseTransaction, userId: number): Promise<void> {
  const { disabled_at: disabledAt } = await transaction
    .selectFrom('users')
    .select('disabled_at')
    .where('id', '=', userId)
    .forShare()
    .executeTakeFirstOrThrow()
  if (disabledAt !== null) throw accountDisabled()
}

export function accountDisabled(): ApplicationError {
  const message = 'An operator disabled this account. Contact the operator of this server.'
  return new ApplicationError('account_disabled', message)
}
