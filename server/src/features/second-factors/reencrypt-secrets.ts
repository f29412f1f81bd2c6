import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import { decryptTotpSecret, encryptTotpSecret } from './totp-secret.ts'

const batchSize = 500

/** Whether an authenticator app is in use, whose secret depends on the SECRET_KEY. */
export async function hasTotpSecrets(db: Database): Promise<boolean> {
  const rows = db.selectFrom('totp_factors').select('user_id').where('verified_at', 'is not', null)
  return (await rows.limit(1).executeTakeFirst()) !== undefined
}

/** Keeps secrets that the old key doesn't open: their owners have recovery codes. Open setups fail. */
export async function reencryptSecrets(
  transaction: DatabaseTransaction,
  { from, to }: { from: string; to: string },
): Promise<void> {
  for (let last = 0; ;) {
    const batch = await transaction
      .selectFrom('totp_factors')
      .select(['user_id', 'secret'])
      .where('user_id', '>', last)
      .where('verified_at', 'is not', null)
      .orderBy('user_id')
      .limit(batchSize)
      .forUpdate()
      .execute()
    for (const { user_id: userId, secret } of batch) {
      const plain = decryptTotpSecret(from, userId, secret)
      if (plain === null) continue
      const values = { secret: encryptTotpSecret(to, userId, plain) }
      await transaction.updateTable('totp_factors').set(values).where('user_id', '=', userId).execute()
    }
    if (batch.length < batchSize) return
    last = batch.at(-1)!.user_id
  }
}
