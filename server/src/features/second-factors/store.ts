import { sql } from 'kysely'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'

/** A kind of second factor. */
export type FactorMethod = 'passkey' | 'totp' | 'recovery_code'

/** The methods that a user can sign in with after the password; none without a second factor. */
export async function listFactorMethods(db: Database, userId: number): Promise<FactorMethod[]> {
  const { rows } = await sql<Record<FactorMethod, boolean>>`
    SELECT EXISTS (SELECT FROM passkeys WHERE user_id = ${userId}) AS passkey,
      EXISTS (SELECT FROM totp_factors WHERE user_id = ${userId} AND verified_at IS NOT NULL) AS totp,
      EXISTS (SELECT FROM recovery_codes WHERE user_id = ${userId}) AS recovery_code`.execute(db)
  const has = rows[0]!
  if (!has.passkey && !has.totp) return []
  return (['passkey', 'totp', 'recovery_code'] as const).filter((method) => has[method])
}

/** Whether a user has a second factor. An unfinished setup does not count. */
export async function hasSecondFactor(db: Database, userId: number): Promise<boolean> {
  return (await listFactorMethods(db, userId)).length > 0
}

/** The confirmed authenticator app of a user. */
export function findTotp(db: Database, userId: number) {
  return db
    .selectFrom('totp_factors')
    .select(['secret', 'verified_at', 'last_used_step'])
    .where('user_id', '=', userId)
    .where('verified_at', 'is not', null)
    .executeTakeFirst()
}

/** An unfinished setup that began after `since`. */
export function findPendingTotp(db: Database, userId: number, since: Date) {
  return db
    .selectFrom('totp_factors')
    .select('secret')
    .where('user_id', '=', userId)
    .where('verified_at', 'is', null)
    .where('created_at', '>', since)
    .executeTakeFirst()
}

/** Replaces an unconfirmed secret by a new one; false if the user has a confirmed one. */
export async function insertPendingTotp(
  db: Database,
  userId: number,
  secret: Buffer,
  at: Date,
): Promise<boolean> {
  const result = await db
    .insertInto('totp_factors')
    .values({ user_id: userId, secret, created_at: at })
    .onConflict((conflict) =>
      conflict
        .column('user_id')
        .doUpdateSet({ secret, created_at: at })
        .where('totp_factors.verified_at', 'is', null),
    )
    .executeTakeFirst()
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n
}

/** Confirms a secret, unless another request confirmed or replaced it. */
export async function verifyTotpSecret(
  db: Database,
  userId: number,
  { secret, step, at }: { secret: Buffer; step: number; at: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('totp_factors')
    .set({ verified_at: at, last_used_step: step })
    .where('user_id', '=', userId)
    .where('secret', '=', secret)
    .where('verified_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Marks a time step as used; false if its code, or that of a later step, was used before. */
export async function consumeTotpStep(db: Database, userId: number, step: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('totp_factors')
    .set({ last_used_step: step })
    .where('user_id', '=', userId)
    .where('verified_at', 'is not', null)
    .where('last_used_step', '<', step)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Deletes a user's confirmed authenticator app; false without one. */
export async function deleteTotp(transaction: DatabaseTransaction, userId: number): Promise<boolean> {
  const { numDeletedRows } = await transaction
    .deleteFrom('totp_factors')
    .where('user_id', '=', userId)
    .where('verified_at', 'is not', null)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Replaces a user's recovery codes; an empty list deletes them. */
export async function replaceRecoveryCodes(
  transaction: DatabaseTransaction,
  userId: number,
  hashes: readonly Buffer[],
): Promise<void> {
  await transaction.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  if (hashes.length === 0) return
  const rows = hashes.map((hash) => ({ user_id: userId, code_hash: hash }))
  await transaction.insertInto('recovery_codes').values(rows).execute()
}

export async function countRecoveryCodes(db: Database, userId: number): Promise<number> {
  const { count } = await db
    .selectFrom('recovery_codes')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return count
}

export async function hasRecoveryCode(db: Database, userId: number, hash: Buffer): Promise<boolean> {
  const row = await db
    .selectFrom('recovery_codes')
    .select('user_id')
    .where('user_id', '=', userId)
    .where('code_hash', '=', hash)
    .executeTakeFirst()
  return row !== undefined
}

/** Consumes a recovery code; false if it was used before. */
export async function consumeRecoveryCode(db: Database, userId: number, hash: Buffer): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('recovery_codes')
    .where('user_id', '=', userId)
    .where('code_hash', '=', hash)
    .executeTakeFirst()
  return numDeletedRows > 0n
}
