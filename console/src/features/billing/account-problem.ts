import type { BillingAccount, BillingConfig } from '../../contract.ts'

/** Why an account can't deploy, other than its limit. */
export type AccountProblem = 'past_due' | 'suspended' | 'closed' | 'ended' | 'exhausted' | 'unactivated'

/** Whether the account has a subscription that is active or past due. */
export function isSubscribed({ subscription_status: status }: BillingAccount): boolean {
  return !['none', 'canceled', 'incomplete_expired', 'paused'].includes(status)
}

/** Finds the problem that would reject a new deployment; null without one. */
export function findAccountProblem(
  account: BillingAccount,
  features: BillingConfig['features'],
): AccountProblem | null {
  const { status, billing_mode: mode, trial_credit: credit } = account
  if (status !== 'active') return status
  if (mode === 'postpaid') return isSubscribed(account) ? null : 'ended'
  if (!features.trial) return 'unactivated'
  return credit !== null && Number(credit.remaining) === 0 ? 'exhausted' : null
}

/** Whether the organization can activate postpaid billing now. */
export function canActivate(account: BillingAccount, features: BillingConfig['features']): boolean {
  const isOpen = account.status === 'active' || account.status === 'past_due'
  return isOpen && features.postpaid && !isSubscribed(account)
}
