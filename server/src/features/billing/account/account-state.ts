import type {
  CollectionMethod,
  ProcessorSubscription,
  ProcessorSubscriptionStatus,
} from '../../../ports/payment-processor.ts'

/** Allowed transitions. Processors set `active` and `past_due`; events revert no operator's status. */
export const accountTransitions = {
  active: ['past_due', 'suspended', 'closed'],
  past_due: ['active', 'suspended', 'closed'],
  suspended: ['active', 'closed'],
  closed: [],
} as const satisfies Record<string, readonly string[]>

export type AccountStatus = keyof typeof accountTransitions

export const accountStatuses = Object.keys(accountTransitions) as [AccountStatus, ...AccountStatus[]]

export type BillingMode = 'trial' | 'postpaid'

export const billingModes = ['trial', 'postpaid'] as const satisfies readonly BillingMode[]

/** Stripe's eight statuses, and `none` before the first subscription. */
export type SubscriptionStatus = ProcessorSubscriptionStatus | 'none'

/** The effect of each subscription status: `late` has an unpaid invoice, `ended` is no longer charged. */
const standings = {
  none: 'ended',
  incomplete: 'late',
  incomplete_expired: 'ended',
  trialing: 'current',
  active: 'current',
  past_due: 'late',
  canceled: 'ended',
  unpaid: 'late',
  paused: 'ended',
} as const satisfies Record<SubscriptionStatus, 'current' | 'late' | 'ended'>

export const subscriptionStatuses = Object.keys(standings) as [SubscriptionStatus, ...SubscriptionStatus[]]

/** True while the processor charges a subscription or retries a payment. */
export function isLive(status: SubscriptionStatus): boolean {
  return standings[status] !== 'ended'
}

/** The fields of an account that are derived from the processor's subscription. */
export interface SyncedState {
  billing_mode: BillingMode
  status: AccountStatus
  processor_subscription_id: string | null
  subscription_status: SubscriptionStatus
  collection_method: CollectionMethod | null
  current_period_start: Date | null
  current_period_end: Date | null
  postpaid_since: Date | null
  max_active_resources: number
}

/** Derives an account's state, from no events: their order doesn't matter. Postpaid accounts stay so. */
export function deriveAccountState(
  account: SyncedState,
  subscription: ProcessorSubscription | null,
  terms: { postpaidMaxActive: number },
): SyncedState {
  if (subscription === null) {
    // The processor no longer has the subscription, so nothing more is charged.
    const status = account.processor_subscription_id === null ? 'none' : 'canceled'
    return { ...account, status: nextStatus(account.status, status), subscription_status: status }
  }
  const state = {
    ...account,
    status: nextStatus(account.status, subscription.status),
    processor_subscription_id: subscription.id,
    subscription_status: subscription.status,
    collection_method: subscription.collectionMethod,
    current_period_start: subscription.currentPeriodStart,
    current_period_end: subscription.currentPeriodEnd,
  }
  if (account.billing_mode === 'postpaid' || !isLive(subscription.status)) return state
  return {
    ...state,
    billing_mode: 'postpaid',
    postpaid_since: subscription.currentPeriodStart,
    max_active_resources: terms.postpaidMaxActive,
  }
}

/** True when a sync at `syncedAt` already includes the effect of an event received at `receivedAt`. */
export function isReflected(receivedAt: Date, syncedAt: Date | null): boolean {
  return syncedAt !== null && receivedAt < syncedAt
}

function nextStatus(status: AccountStatus, subscription: SubscriptionStatus): AccountStatus {
  if (status === 'suspended' || status === 'closed') return status
  return standings[subscription] === 'late' ? 'past_due' : 'active'
}

/** The error code that blocks new deployments; null when only the limit and the trial credit apply. */
export function findBlock(
  account: Pick<SyncedState, 'billing_mode' | 'status' | 'subscription_status'>,
  terms: { isOn: boolean; trial: boolean },
): 'account_suspended' | 'payment_past_due' | 'billing_not_activated' | null {
  const { billing_mode: mode, status, subscription_status: subscription } = account
  if (!terms.isOn) return status === 'closed' ? 'account_suspended' : null
  if (status === 'suspended' || status === 'closed') return 'account_suspended'
  if (status === 'past_due') return 'payment_past_due'
  const isActivated = mode === 'trial' ? terms.trial : isLive(subscription)
  return isActivated ? null : 'billing_not_activated'
}

/** The billing period at `now`: the subscription's, or the UTC calendar month without a live subscription. */
export function currentPeriod(
  account: Pick<SyncedState, 'subscription_status' | 'current_period_start' | 'current_period_end'>,
  now: Date,
): { start: Date; end: Date } {
  const { subscription_status: status, current_period_start: start, current_period_end: end } = account
  if (isLive(status) && start !== null && end !== null) return { start, end }
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  return { start: new Date(Date.UTC(year, month)), end: new Date(Date.UTC(year, month + 1)) }
}
