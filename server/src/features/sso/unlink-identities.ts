import type { DatabaseTransaction } from '../../database/tables.ts'

/** Removes a user's links to identity providers. */
export async function unlinkIdentities(transaction: DatabaseTransaction, userId: number): Promise<void> {
  await transaction.deleteFrom('identities').where('user_id', '=', userId).execute()
}
