import type { DatabaseTransaction } from '../../database/tables.ts'

/** Locks an account against changes by other transactions until this one ends. */
export async function lockAccount(transaction: DatabaseTransaction, userId: number): Promise<void> {
  await transaction.selectFrom('users').select('id').where('id', '=', userId).forNoKeyUpdate().execute()
}
