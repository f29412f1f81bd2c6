import type { DatabaseTransaction } from '../../database/tables.ts'
import { getOrganization, updateOrganization } from './store.ts'

/** Whether an organization has this name. */
export async function hasName(transaction: DatabaseTransaction, id: number, name: string): Promise<boolean> {
  return (await getOrganization(transaction, id)).name === name
}

/** Renames the organization in which a user is super_admin; returns false if no such organization exists. */
export async function renameFoundedOrganization(
  transaction: DatabaseTransaction,
  userId: number,
  name: string,
  at: Date,
): Promise<boolean> {
  const founded = await transaction
    .selectFrom('memberships')
    .select('organization_id')
    .where('user_id', '=', userId)
    .where('role', '=', 'super_admin')
    .orderBy('id')
    .executeTakeFirst()
  if (founded === undefined) return false
  await updateOrganization(transaction, founded.organization_id, { name }, at)
  return true
}
