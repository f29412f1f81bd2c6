import type { Selectable } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { PasswordResetsTable } from './tables.ts'

export type PasswordReset = Selectable<PasswordResetsTable>

export async function countResetsSince(db: Database, userId: number, since: Date): Promise<number> {
  const { count } = await db
    .selectFrom('password_resets')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('created_at', '>', since)
    .executeTakeFirstOrThrow()
  return count
}

/** Inserts a reset and invalidates the user's earlier ones. Returns the new reset's id. */
export async function replaceReset(
  db: Database,
  reset: { userId: number; nonce: string; tokenHash: Buffer; at: Date; expiresAt: Date },
): Promise<number> {
  await closeResets(db, reset.userId, reset.at)
  const { id } = await db
    .insertInto('password_resets')
    .values({
      user_id: reset.userId,
      nonce: reset.nonce,
      token_hash: reset.tokenHash,
      created_at: reset.at,
      expires_at: reset.expiresAt,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Finds a reset whose link is valid at `now`. */
export function findOpenReset(db: Database, reset: { id: number } | { tokenHash: Buffer }, now: Date) {
  return db
    .selectFrom('password_resets')
    .innerJoin('users', 'users.id', 'password_resets.user_id')
    .select([
      'password_resets.id',
      'password_resets.user_id',
      'password_resets.nonce',
      'password_resets.token_hash',
      'users.email',
    ])
    .where((where) =>
      'id' in reset
        ? where('password_resets.id', '=', reset.id)
        : where('password_resets.token_hash', '=', reset.tokenHash),
    )
    .where('password_resets.closed_at', 'is', null)
    .where('password_resets.expires_at', '>', now)
    .executeTakeFirst()
}

/** Marks a link as used; false when it is no longer valid. */
export async function consumeReset(db: Database, id: number, now: Date): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('password_resets')
    .set({ closed_at: now })
    .where('id', '=', id)
    .where('closed_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Invalidates a user's open reset links. */
export async function closeResets(db: Database, userId: number, at: Date): Promise<void> {
  await db
    .updateTable('password_resets')
    .set({ closed_at: at })
    .where('user_id', '=', userId)
    .where('closed_at', 'is', null)
    .execute()
}

/** Deletes resets that are older than a day. Younger ones count against the limit per hour. */
export async function deleteOldResets(db: Database, now: Date): Promise<void> {
  const yesterday = new Date(now.getTime() - 24 * 3_600_000)
  await db.deleteFrom('password_resets').where('created_at', '<', yesterday).execute()
}
