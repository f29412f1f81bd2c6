import type { DatabaseTransaction } from '../../database/tables.ts'

/** Cancels every unanswered invitation of an organization. */
export async function cancelOpenInvitations(
  transaction: DatabaseTransaction,
  organizationId: number,
  at: Date,
): Promise<void> {
  await transaction
    .updateTable('invitations')
    .set({ status: 'cancelled', responded_at: at })
    .where('organization_id', '=', organizationId)
    .where('status', '=', 'pending')
    .execute()
}
