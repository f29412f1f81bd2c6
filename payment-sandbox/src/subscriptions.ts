import type { Stripe } from 'stripe'
import { checkCharge, isExpired, requireCardOf } from './cards.ts'
import { mergeMetadata } from './customers.ts'
import type { Metadata } from './customers.ts'
import { invalid, missing, refused } from './errors.ts'
import { recordEvent } from './events.ts'
import { createInvoice, finalizeInvoice } from './invoices.ts'
import type { CollectionMethod, PaymentMethod, Subscription, Wire } from './object-types.ts'
import { getObject, insertObject, newId, saveObject } from './objects.ts'
import { anchorOf, periodEnd } from './periods.ts'
import type { BillingCycleAnchor } from './periods.ts'
import type { Change } from './store.ts'
import { changeItems, createItems, periodOf } from './subscription-items.ts'
import type { ItemChange } from './subscription-items.ts'
import { testCardOf } from './test-cards.ts'

export interface SubscriptionInput {
  customer: string
  items: { price: string }[]
  billing_cycle_anchor_config?: BillingCycleAnchor | undefined
  default_payment_method: string
  metadata?: Metadata | undefined
}

/** Subscribes a customer from now on. The first invoice, without usage, is zero and paid at once. */
export async function createSubscription(change: Change, input: SubscriptionInput): Promise<Subscription> {
  const { db, second, now } = change
  const customer = await getObject(db, 'customer', input.customer, 'customer')
  const card = await requireCardOf(db, customer.id, input.default_payment_method, 'default_payment_method')
  requireChargeable(card, now)
  const anchor = input.billing_cycle_anchor_config ?? anchorOf(second)
  const period = { start: second, end: periodEnd(anchor, second) }
  const items = await createItems(change, input.items, period)
  const id = newId('sub')
  const subscription: Subscription = {
    id,
    object: 'subscription',
    billing_cycle_anchor_config: anchor,
    collection_method: 'charge_automatically',
    currency: items[0]!.price.currency,
    customer: customer.id,
    days_until_due: null,
    default_payment_method: card.id,
    ended_at: null,
    items: {
      object: 'list',
      data: items,
      has_more: false,
      url: `/v1/subscription_items?subscription=${id}`,
    },
    metadata: mergeMetadata({}, input.metadata),
    status: 'active',
  } satisfies Wire<Stripe.Subscription>
  await insertObject(change, subscription, new Date(period.end * 1000))
  const invoice = await createInvoice(change, subscription, { start: second, end: second })
  await finalizeInvoice(change, invoice)
  await recordEvent(change, 'customer.subscription.created', subscription)
  return subscription
}

/**
 * Refuses a card that could not be charged while its owner is absent: Stripe detects that at the first
 * invoice above zero, here it can be tried at once. The exception simulates a decline at the next invoice.
 */
function requireChargeable(card: PaymentMethod, now: Date): void {
  if (testCardOf(card).charge === 'declines' && !isExpired(card, now)) return
  const refusal = checkCharge(card, now, false)
  if (refusal !== null) throw refused(refusal)
}

export interface SubscriptionChanges {
  items?: ItemChange[] | undefined
  collection_method?: CollectionMethod | undefined
  days_until_due?: number | undefined
  default_payment_method?: string | undefined
  metadata?: Metadata | undefined
}

export async function updateSubscription(
  change: Change,
  id: string,
  input: SubscriptionChanges,
): Promise<Subscription> {
  const subscription = await getLive(change, id)
  const card = input.default_payment_method
  if (card !== undefined) {
    await requireCardOf(change.db, subscription.customer, card, 'default_payment_method')
  }
  const method = input.collection_method ?? subscription.collection_method
  const daysUntilDue =
    method === 'send_invoice' ? (input.days_until_due ?? subscription.days_until_due) : null
  if (method === 'send_invoice' && daysUntilDue === null) {
    throw invalid('send_invoice requires days_until_due.', 'days_until_due', 'parameter_missing')
  }
  const updated = await saveObject(change, {
    ...subscription,
    collection_method: method,
    days_until_due: daysUntilDue,
    default_payment_method: card ?? subscription.default_payment_method,
    metadata: mergeMetadata(subscription.metadata, input.metadata),
    items: { ...subscription.items, data: await changeItems(change, subscription, input.items ?? []) },
  })
  await recordEvent(change, 'customer.subscription.updated', updated)
  return updated
}

/** Ends a subscription now. Its usage since the last invoice is charged only with `invoiceNow`. */
export async function cancelSubscription(
  change: Change,
  id: string,
  invoiceNow: boolean,
): Promise<Subscription> {
  const subscription = await getLive(change, id)
  const canceled = { ...subscription, status: 'canceled' as const, ended_at: change.second }
  await saveObject(change, canceled, null)
  const { start } = periodOf(subscription.items.data)
  if (invoiceNow && change.second > start)
    await createInvoice(change, subscription, { start, end: change.second })
  await recordEvent(change, 'customer.subscription.deleted', canceled)
  return canceled
}

async function getLive({ db }: Change, id: string): Promise<Subscription> {
  const subscription = await getObject(db, 'subscription', id)
  if (subscription.ended_at !== null) throw missing('subscription', id, 'id')
  return subscription
}

/** Creates the invoice of the period that has ended and begins the next period. */
export async function beginNextPeriod(change: Change, subscription: Subscription): Promise<void> {
  const { data: items } = subscription.items
  const ended = periodOf(items)
  await createInvoice(change, subscription, ended)
  const end = periodEnd(subscription.billing_cycle_anchor_config, ended.end)
  const data = items.map((item) => ({
    ...item,
    current_period_start: ended.end,
    current_period_end: end,
  }))
  const moved = { ...subscription, items: { ...subscription.items, data } }
  await saveObject(change, moved, new Date(end * 1000))
  await recordEvent(change, 'customer.subscription.updated', moved)
}
