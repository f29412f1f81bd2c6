import type { BillingAccount, BillingConfig } from '../../../../server/src/contract.ts'

/** Why an account can't deploy now, apart from its limit; null where nothing stands in the way. */
export type Trouble = 'past_due' | 'suspended' | 'closed' | 'ended' | 'exhausted' | 'unactivated'

/** True while a subscription is charged, or tried to be. */
export function isSubscribed({ subscription_status: status }: BillingAccount): boolean {
  return !['none', 'canceled', 'incomplete_expired', 'paused'].includes(status)
}

/** How an account stands, as creating a deployment would find it. */
export function findTrouble(account: BillingAccount, features: BillingConfig['features']): Trouble | null {
  const { status, billing_mode: mode, trial_credit: credit } = account
  if (status !== 'active') return status
  if (mode === 'postpaid') return isSubscribed(account) ? null : 'ended'
  if (!features.trial) return 'unactivated'
  return credit !== null && Number(credit.remaining) === 0 ? 'exhausted' : null
}

/** Whether activating billing is what one can do next. */
export function canActivate(account: BillingAccount, features: BillingConfig['features']): boolean {
  const isOpen = account.status === 'active' || account.status === 'past_due'
  return isOpen && features.postpaid && !isSubscribed(account)
}
