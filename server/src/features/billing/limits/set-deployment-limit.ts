import type { Config } from '../../../config/config.ts'
import type { DatabaseTransaction } from '../../../database/tables.ts'
import { ensureAccount, updateAccount } from '../account/store.ts'

/** Sets how many deployments an organization may have at once, and returns the limit before. */
export async function setDeploymentLimit(
  transaction: DatabaseTransaction,
  config: Pick<Config, 'billing'>,
  organizationId: number,
  limit: number,
  at: Date,
): Promise<number> {
  const { id, max_active_resources: before } = await ensureAccount(transaction, config, organizationId, at)
  await updateAccount(transaction, id, { max_active_resources: limit }, at)
  return before
}
