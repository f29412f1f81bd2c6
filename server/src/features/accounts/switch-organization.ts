import type { DatabaseTransaction } from '../../database/tables.ts'

/** Makes an organization a user's current one. The user must be a member. */
export async function switchOrganization(
  transaction: DatabaseTransaction,
  { userId, organizationId, at }: { userId: number; organizationId: number; at: Date },
): Promise<void> {
  await transaction
    .updateTable('users')
    .set({ current_organization_id: organizationId, updated_at: at })
    .where('id', '=', userId)
    .execute()
}
