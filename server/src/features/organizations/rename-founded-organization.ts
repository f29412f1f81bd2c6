import type { DatabaseTransaction } from '../../database/tables.ts'
import { findFoundedOrganizationId, updateOrganization } from './store.ts'

/** Renames the organization that a user founded, that is, where they are super_admin; false when there is none. */
export async function renameFoundedOrganization(
  transaction: DatabaseTransaction,
  userId: number,
  name: string,
  at: Date,
): Promise<boolean> {
  const id = await findFoundedOrganizationId(transaction, userId)
  if (id === undefined) return false
  await updateOrganization(transaction, id, { name }, at)
  return true
}
