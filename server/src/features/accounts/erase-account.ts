import type { DatabaseTransaction } from '../../database/tables.ts'
import { forgetNetworks } from './known-networks.ts'

/** Erases a user's personal data and networks. Deployments and the audit log still refer to the row. */
export async function eraseAccount(
  transaction: DatabaseTransaction,
  userId: number,
  at: Date,
): Promise<void> {
  await transaction
    .updateTable('users')
    .set({
      email: `deleted-${userId}@deleted.invalid`,
      email_verified_at: null,
      password_hash: null,
      name: 'Deleted user',
      first_name: null,
      last_name: null,
      country: null,
      contact_number: null,
      last_active_at: null,
      deleted_at: at,
      updated_at: at,
    })
    .where('id', '=', userId)
    .execute()
  await forgetNetworks(transaction, userId)
}
