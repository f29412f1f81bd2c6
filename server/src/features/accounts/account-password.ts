import { sql } from 'kysely'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'

/** Replaces a password if its hash is still `before`; false if it has changed. */
export async function replacePassword(
  db: Database,
  userId: number,
  { before, after, at }: { before: string; after: string; at: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('users')
    .set({ password_hash: after, updated_at: at })
    .where('id', '=', userId)
    .where('password_hash', '=', before)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Sets the password of a user who proved to own their email, which now counts as verified; returns it. */
export async function resetPassword(
  db: Database,
  userId: number,
  passwordHash: string,
  at: Date,
): Promise<{ email: string }> {
  return db
    .updateTable('users')
    .set({
      password_hash: passwordHash,
      email_verified_at: sql<Date>`coalesce(email_verified_at, ${at})`,
      updated_at: at,
    })
    .where('id', '=', userId)
    .returning('email')
    .executeTakeFirstOrThrow()
}

/** Leaves a user without a password. */
export async function deletePassword(
  transaction: DatabaseTransaction,
  userId: number,
  at: Date,
): Promise<void> {
  await transaction
    .updateTable('users')
    .set({ password_hash: null, updated_at: at })
    .where('id', '=', userId)
    .execute()
}

/** Locks a user until the transaction ends; undefined if their password hash is no longer this one. */
export function lockPassword(transaction: DatabaseTransaction, userId: number, passwordHash: string) {
  return transaction
    .selectFrom('users')
    .select(['id as userId', 'email'])
    .where('id', '=', userId)
    .where('password_hash', '=', passwordHash)
    .forShare()
    .executeTakeFirst()
}

export async function hasPassword(db: Database, userId: number): Promise<boolean> {
  const user = await db
    .selectFrom('users')
    .select('id')
    .where('id', '=', userId)
    .where('password_hash', 'is not', null)
    .executeTakeFirst()
  return user !== undefined
}
