import type { DatabaseTransaction } from '../../database/tables.ts'
import { hasSecondFactor } from './store.ts'

/** Deletes a user's factors, unfinished ones and recovery codes too; false if no factor was in use. */
export async function deleteSecondFactors(
  transaction: DatabaseTransaction,
  userId: number,
): Promise<boolean> {
  const had = await hasSecondFactor(transaction, userId)
  for (const table of ['totp_factors', 'passkeys', 'passkey_challenges', 'recovery_codes'] as const) {
    await transaction.deleteFrom(table).where('user_id', '=', userId).execute()
  }
  return had
}
