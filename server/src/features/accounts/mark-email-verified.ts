import type { DatabaseTransaction } from '../../database/tables.ts'

/** Marks a user's email as verified, unless it already is. */
export async function markEmailVerified(
  transaction: DatabaseTransaction,
  userId: number,
  at: Date,
): Promise<void> {
  await transaction
    .updateTable('users')
    .set({ email_verified_at: at, updated_at: at })
    .where('id', '=', userId)
    .where('email_verified_at', 'is', null)
    .execute()
}
