import type { DatabaseTransaction } from '../../database/tables.ts'

/** Locks an account against changes by other transactions until this one ends, and returns it. */
export function lockAccount(transaction: DatabaseTransaction, userId: number) {
  return transaction
    .selectFrom('users')
    .select(['id', 'email', 'email_verified_at', 'current_organization_id'])
    .where('id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
}
