import type { DatabaseTransaction } from '../../database/tables.ts'

/** Deletes the links that were emailed to a user, so that they no longer work. */
export async function deleteLinks(transaction: DatabaseTransaction, userId: number): Promise<void> {
  for (const table of ['password_resets', 'email_verifications'] as const) {
    await transaction.deleteFrom(table).where('user_id', '=', userId).execute()
  }
}
