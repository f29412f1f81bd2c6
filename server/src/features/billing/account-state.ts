import type {
  CollectionMethod,
  ProcessorSubscription,
  ProcessorSubscriptionStatus,
} from '../../ports/payment-processor.ts'
import { floorHour } from '../metering/hours.ts'

/**
 * What an account's status may become. The processor moves it between `active` and `past_due`; an operator alone suspends and
 * closes, and what an operator did no event undoes.
 */
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

/** Stripe's eight, and `none` before the first subscription. */
export type SubscriptionStatus = ProcessorSubscriptionStatus | 'none'

/**
 * What a subscription's status means here: `good`, it is charged; `late`, it goes on and something is not paid; `over`, nothing is
 * charged to it any more.
 */
const standings = {
  none: 'over',
  incomplete: 'late',
  incomplete_expired: 'over',
  trialing: 'good',
  active: 'good',
  past_due: 'late',
  canceled: 'over',
  unpaid: 'late',
  paused: 'over',
} as const satisfies Record<SubscriptionStatus, 'good' | 'late' | 'over'>

export const subscriptionStatuses = Object.keys(standings) as [SubscriptionStatus, ...SubscriptionStatus[]]

/** True while the processor charges a subscription, or tries to. */
export function isLive(status: SubscriptionStatus): boolean {
  return standings[status] !== 'over'
}

/** The part of an account that follows the processor. */
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

/**
 * An account as it must be when the processor has this subscription: a function of the two alone, so neither the order nor the
 * number of the events that led to it counts. A subscription that is over leaves the account postpaid and owing nothing new.
 */
export function deriveAccountState(
  account: SyncedState,
  subscription: ProcessorSubscription | null,
  terms: { postpaidMaxActive: number },
): SyncedState {
  if (subscription === null) {
    // The processor forgot what it had: whatever that was, it charges nothing any more.
    const status = account.processor_subscription_id === null ? 'none' : 'canceled'
    return { ...account, status: nextStatus(account.status, status), subscription_status: status }
  }
  const followed = {
    ...account,
    status: nextStatus(account.status, subscription.status),
    processor_subscription_id: subscription.id,
    subscription_status: subscription.status,
    collection_method: subscription.collectionMethod,
    current_period_start: subscription.currentPeriodStart,
    current_period_end: subscription.currentPeriodEnd,
  }
  if (account.billing_mode === 'postpaid' || !isLive(subscription.status)) return followed
  return {
    ...followed,
    billing_mode: 'postpaid',
    postpaid_since: floorHour(subscription.currentPeriodStart),
    max_active_resources: terms.postpaidMaxActive,
  }
}

/** True when what was heard of at `receivedAt` is part of what the processor said when it was asked at `askedAt`. */
export function isReflected(receivedAt: Date, askedAt: Date | null): boolean {
  return askedAt !== null && receivedAt < askedAt
}

function nextStatus(status: AccountStatus, subscription: SubscriptionStatus): AccountStatus {
  if (status === 'suspended' || status === 'closed') return status
  return standings[subscription] === 'late' ? 'past_due' : 'active'
}

/** Why an account may not deploy, by the code of the answer; null when nothing but its limit and its credit stand in the way. */
export function findBlock(
  account: Pick<SyncedState, 'billing_mode' | 'status' | 'subscription_status'>,
  terms: { trial: boolean },
): 'account_suspended' | 'payment_past_due' | 'billing_not_activated' | null {
  const { billing_mode: mode, status, subscription_status: subscription } = account
  if (status === 'suspended' || status === 'closed') return 'account_suspended'
  if (status === 'past_due') return 'payment_past_due'
  const isActivated = mode === 'trial' ? terms.trial : isLive(subscription)
  return isActivated ? null : 'billing_not_activated'
}

/** The billing period that `now` lies in: the subscription's, or the calendar month in UTC where there is none. */
export function currentPeriod(
  account: Pick<SyncedState, 'subscription_status' | 'current_period_start' | 'current_period_end'>,
  now: Date,
): { start: Date; end: Date } {
  const { subscription_status: status, current_period_start: start, current_period_end: end } = account
  if (isLive(status) && start !== null && end !== null) return { start, end }
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  return { start: new Date(Date.UTC(year, month)), end: new Date(Date.UTC(year, month + 1)) }
}
