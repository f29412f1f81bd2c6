import type { DatabaseTransaction } from '../../database/tables.ts'

/** Records that a user proved to receive mail at their address, if that is not known yet. */
export async function confirmEmail(
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
