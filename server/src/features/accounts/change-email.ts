import type { DatabaseTransaction } from '../../database/tables.ts'

/** Replaces a user's email by one that they proved to own. A unique index refuses another account's. */
export async function changeEmail(
  transaction: DatabaseTransaction,
  userId: number,
  email: string,
  at: Date,
): Promise<void> {
  await transaction
    .updateTable('users')
    .set({ email, email_verified_at: at, updated_at: at })
    .where('id', '=', userId)
    .execute()
}
