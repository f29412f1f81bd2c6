import type { Database } from '../../database/tables.ts'
import type { Person } from '../../base/viewer.ts'
import { selectSessions, toPerson } from './store.ts'

/** The persons of those sessions that still exist, by the ids of the sessions. */
export async function findPersons(db: Database, sessionIds: readonly number[]): Promise<Map<number, Person>> {
  const rows = await selectSessions(db).where('sessions.id', 'in', sessionIds).execute()
  return new Map(rows.map((row) => [row.id, toPerson(row)]))
}

/** True for a session that a sign-in started at `since` or later. */
export async function isSignInSince(db: Database, id: number, since: Date): Promise<boolean> {
  const session = await db
    .selectFrom('sessions')
    .select('id')
    .where('id', '=', id)
    .where('created_at', '>=', since)
    .where('script_name', 'is', null)
    .executeTakeFirst()
  return session !== undefined
}
