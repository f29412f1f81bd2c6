import { Exact } from '../../../base/decimal.ts'
import type { Services } from '../../../services.ts'
import type { DatabaseTransaction } from '../../../database/tables.ts'
import { sumAmount } from '../../metering/summary.ts'
import { findBlock } from '../account/account-state.ts'
import { blocked } from '../account/errors.ts'
import { countActive, ensureAccount, lockAccount } from '../account/store.ts'
import type { BillingAccount } from '../account/store.ts'

/** The cost of a trial's usage, else null. Its snapshot must precede `assertCanDeploy`'s transaction. */
export async function readTrialUsage(
  deps: Pick<Services, 'db' | 'config' | 'clock' | 'prices'>,
  organizationId: number,
): Promise<string | null> {
  const { db, config, clock } = deps
  const account = await ensureAccount(db, config, organizationId, clock())
  return isOnTrial(account, config) ? sumAmount(deps, organizationId, { withoutEndpoints: true }) : null
}

/** Throws if billing blocks deployments that may have more instances than before. Locks the account. */
export async function assertWithinLimit(
  transaction: DatabaseTransaction,
  { config, clock }: Pick<Services, 'config' | 'clock'>,
  organizationId: number,
): Promise<void> {
  const { id } = await ensureAccount(transaction, config, organizationId, clock())
  const account = await lockAccount(transaction, id)
  const block = findBlock(account, config.billing)
  if (block !== null) throw blocked(block)
  const active = (await countActive(transaction, organizationId)).instances
  if (active > findLimit(account, config)) throw blocked('resource_limit_reached')
}

/** Throws when billing blocks another instance of a deployment that is awake. */
export async function assertCanGrow(deps: Deps, organizationId: number): Promise<void> {
  const block = await findStartBlock(deps, organizationId)
  if (block !== null) throw blocked(block)
}

/** Throws when billing blocks waking. A late payment doesn't: who lets a deployment sleep saves money. */
export async function assertCanWake(deps: Deps, organizationId: number): Promise<void> {
  const block = await findStartBlock(deps, organizationId)
  if (block !== null && block !== 'payment_past_due') throw blocked(block)
}

type Deps = Pick<Services, 'db' | 'config' | 'clock' | 'prices'>

async function findStartBlock(deps: Deps, organizationId: number) {
  const { db, config, clock } = deps
  const account = await ensureAccount(db, config, organizationId, clock())
  const block = findBlock(account, config.billing)
  if (block !== null || !isOnTrial(account, config)) return block
  return isUsedUp(deps, await sumAmount(deps, organizationId, { withoutEndpoints: true }))
    ? 'trial_credit_exhausted'
    : null
}

/** How many instances an organization's deployments may have: any number without billing. */
export function findLimit(
  account: Pick<BillingAccount, 'max_active_resources'>,
  { billing }: Pick<Services['config'], 'billing'>,
): number {
  return billing.isOn ? account.max_active_resources : mostInstances
}

/** The largest limit that an operator can set */
const mostInstances = 1_000_000

function isOnTrial({ billing_mode: mode }: BillingAccount, { billing }: Services['config']): boolean {
  return billing.isOn && mode === 'trial'
}

function isUsedUp({ config }: Pick<Services, 'config'>, trialUse: string): boolean {
  return new Exact(trialUse).gte(config.billing.trialCredit)
}

/** Throws if billing blocks a deployment. Locks the account, so that concurrent requests count in turn. */
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
  const active = (await countActive(transaction, organizationId)).instances
  if (active >= findLimit(account, config)) throw blocked('resource_limit_reached')
  if (!isOnTrial(account, config) || trialUse === null) return
  if (isUsedUp({ config }, trialUse)) throw blocked('trial_credit_exhausted')
}
