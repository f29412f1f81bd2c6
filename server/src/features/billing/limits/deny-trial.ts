import type { Config } from '../../../config/config.ts'
import type { DatabaseTransaction } from '../../../database/tables.ts'
import { ensureAccount, updateAccount } from '../account/store.ts'

/** Gives a new organization no trial, because leaving an organization would otherwise renew the credit. */
export async function denyTrial(
  transaction: DatabaseTransaction,
  config: Pick<Config, 'billing'>,
  organizationId: number,
  at: Date,
): Promise<void> {
  const { id } = await ensureAccount(transaction, config, organizationId, at)
  await updateAccount(transaction, id, { max_active_resources: 0 }, at)
}
