import type { Database } from '../../database/tables.ts'

/** Those of the sessions that still exist. */
export async function findLiveSessions(db: Database, ids: readonly number[]): Promise<Set<number>> {
  const rows = await db.selectFrom('sessions').select('id').where('id', 'in', ids).execute()
  return new Set(rows.map(({ id }) => id))
}

/** True for a session that began at `since` or later. */
export async function isSessionSince(db: Database, id: number, since: Date): Promise<boolean> {
  const session = await db
    .selectFrom('sessions')
    .select('id')
    .where('id', '=', id)
    .where('created_at', '>=', since)
    .executeTakeFirst()
  return session !== undefined
}
