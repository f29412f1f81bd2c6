import { Decimal } from 'decimal.js'
import type { Services } from '../../services.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import { sumAmount } from '../metering/summary.ts'
import { findBlock } from './account-state.ts'
import { blocked } from './errors.ts'
import { countActiveDeployments, ensureAccount, lockAccount } from './store.ts'

/**
 * The cost of an organization's trial usage, a decimal string; null for a postpaid organization. Call it before the transaction
 * of `assertCanDeploy`, because it opens its own snapshot.
 */
export async function readTrialUsage(
  deps: Pick<Services, 'db' | 'config' | 'clock' | 'prices'>,
  organizationId: number,
): Promise<string | null> {
  const { db, config, clock } = deps
  const account = await ensureAccount(db, config, organizationId, clock())
  return account.billing_mode === 'trial' ? sumAmount(deps, organizationId) : null
}

/**
 * Throws when billing blocks another deployment. Locks the account until the transaction, which inserts the deployment, ends:
 * concurrent requests are counted one after the other.
 */
export async function assertCanDeploy(
  transaction: DatabaseTransaction,
  { config, clock }: Pick<Services, 'config' | 'clock'>,
  organizationId: number,
  trialUse: string | null,
): Promise<void> {
  const { id } = await ensureAccount(transaction, config, organizationId, clock())
  const account = await lockAccount(transaction, id)
  const block = findBlock(account, config.billing)
  if (block !== null) throw blocked(block)
  const active = await countActiveDeployments(transaction, organizationId)
  if (active >= account.max_active_resources) throw blocked('resource_limit_reached')
  if (account.billing_mode === 'postpaid' || trialUse === null) return
  if (new Decimal(trialUse).gte(config.billing.trialCredit)) throw blocked('trial_credit_exhausted')
}
