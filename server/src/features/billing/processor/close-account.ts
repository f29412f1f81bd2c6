import type { DatabaseTransaction } from '../../../database/tables.ts'

/** Closes a billing account: no new deployment or activation. Usage so far is still billed. */
export async function closeAccount(
  transaction: DatabaseTransaction,
  organizationId: number,
  at: Date,
): Promise<void> {
  await transaction
    .updateTable('billing_accounts')
    .set({ status: 'closed', updated_at: at })
    .where('organization_id', '=', organizationId)
    .execute()
}
