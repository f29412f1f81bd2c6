import type { Database } from '../../database/tables.ts'

/** Deletes the sessions of a user, one of them, or all except one. Returns the deleted ones. */
export async function deleteSessions(
  db: Database,
  userId: number,
  { id, except }: { id?: number; except?: number } = {},
): Promise<{ id: number; scriptName: string | null }[]> {
  let deletion = db
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .returning(['id', 'script_name as scriptName'])
  if (id !== undefined) deletion = deletion.where('id', '=', id)
  if (except !== undefined) deletion = deletion.where('id', '<>', except)
  return deletion.execute()
}
