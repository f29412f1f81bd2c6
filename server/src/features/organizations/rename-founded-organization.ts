import type { DatabaseTransaction } from '../../database/tables.ts'
import { findFoundedOrganizationId, updateOrganization } from './store.ts'

/** Renames the organization in which a user is super_admin; returns false if no such organization exists. */
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
