import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'

/** Notes that a user is active, exact to the hour: more would tell admins who works when. */
export async function recordActivity(db: Database, userId: number, at: Date): Promise<void> {
  const hour = sql<Date>`date_trunc('hour', ${at}::timestamptz)`
  await db
    .updateTable('users')
    .set({ last_active_at: hour })
    .where('id', '=', userId)
    .where((where) => where.or([where('last_active_at', 'is', null), where('last_active_at', '<', hour)]))
    .execute()
}
