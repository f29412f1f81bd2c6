import type { DatabaseTransaction } from '../../database/tables.ts'

/** Keeps other transactions from changing an account until this one ends. */
export async function lockAccount(transaction: DatabaseTransaction, userId: number): Promise<void> {
  await transaction.selectFrom('users').select('id').where('id', '=', userId).forNoKeyUpdate().execute()
}
