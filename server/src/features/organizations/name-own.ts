import type { DatabaseTransaction } from '../../database/tables.ts'
import { updateOrganization } from './store.ts'

/** Names the organization that a user founded, the one whose super_admin they are; false when there is none. */
export async function nameOwnOrganization(
  transaction: DatabaseTransaction,
  userId: number,
  name: string,
  at: Date,
): Promise<boolean> {
  const own = await transaction
    .selectFrom('memberships')
    .select('organization_id')
    .where('user_id', '=', userId)
    .where('role', '=', 'super_admin')
    .orderBy('id')
    .executeTakeFirst()
  if (own === undefined) return false
  await updateOrganization(transaction, own.organization_id, { name }, at)
  return true
}
