import type { Application } from '../../application.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import { findBlock } from './account-state.ts'
import { blocked } from './errors.ts'
import { countActiveDeployments, ensureAccount, lockAccount } from './store.ts'

/**
 * Throws where an organization may not have one more deployment. The account stays locked until the transaction that inserts the
 * deployment ends, so that two that are asked for at once are counted one after the other.
 */
export async function assertMayDeploy(
  transaction: DatabaseTransaction,
  { config, clock }: Pick<Application, 'config' | 'clock'>,
  organizationId: number,
): Promise<void> {
  const { id } = await ensureAccount(transaction, config, organizationId, clock())
  const account = await lockAccount(transaction, id)
  const block = findBlock(account, config.billing)
  if (block !== null) throw blocked(block)
  const active = await countActiveDeployments(transaction, organizationId)
  if (active >= account.max_active_resources) throw blocked('resource_limit_reached')
}
