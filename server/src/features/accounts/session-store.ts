import type { Database } from '../../database/tables.ts'
import type { Actor } from '../../viewer.ts'

export type OwnSession = Awaited<ReturnType<typeof listSessions>>[number]

/** A user's unexpired sessions, latest use first. */
export function listSessions(db: Database, userId: number, now: Date) {
  return db
    .selectFrom('sessions')
    .select(['id', 'created_at', 'last_seen_at', 'address', 'user_agent', 'auth_method'])
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .orderBy('last_seen_at', (order) => order.desc().nullsLast())
    .orderBy('id', 'desc')
    .execute()
}

/** Deletes one session of a user, or all except one, and returns the deleted ids. */
export async function deleteSessions(
  db: Database,
  userId: number,
  which: { id: number } | { except: number },
): Promise<number[]> {
  const deletion = db.deleteFrom('sessions').where('user_id', '=', userId).returning('id')
  const rows = await (
    'id' in which ? deletion.where('id', '=', which.id) : deletion.where('id', '<>', which.except)
  ).execute()
  return rows.map(({ id }) => id)
}

/** Notes where a session was last used. */
export async function touchSession(
  db: Database,
  id: number,
  { address, userAgent }: Pick<Actor, 'address' | 'userAgent'>,
  now: Date,
): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ last_seen_at: now, address, user_agent: userAgent })
    .where('id', '=', id)
    .execute()
}
