import type { Database } from '../../database/tables.ts'

/** Deletes the sessions of a user, one of them, or all except one. Returns the deleted ids. */
export async function deleteSessions(
  db: Database,
  userId: number,
  { id, except }: { id?: number; except?: number } = {},
): Promise<number[]> {
  let deletion = db.deleteFrom('sessions').where('user_id', '=', userId).returning('id')
  if (id !== undefined) deletion = deletion.where('id', '=', id)
  if (except !== undefined) deletion = deletion.where('id', '<>', except)
  const rows = await deletion.execute()
  return rows.map((session) => session.id)
}
