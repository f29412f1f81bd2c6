import type { Stripe } from 'stripe'
import { mergeMetadata } from './customers.ts'
import { recordEvent } from './events.ts'
import { invalid, missing, refused } from './errors.ts'
import { subscriptionLines, takePendingItems } from './invoice-lines.ts'
import { attemptPayment, createInvoice, finalizeInvoice } from './invoices.ts'
import { checkCharge, isExpired, requireOwnMethod } from './payment-methods.ts'
import { periodEnd } from './periods.ts'
import { findObject, getObject, insertObject, newId, saveObject } from './store.ts'
import type { Step } from './store.ts'
import { buildItem, changeItems, findPrice, requireDistinct } from './subscription-items.ts'
import type { ItemInput } from './subscription-items.ts'
import { testCardOf } from './test-cards.ts'

const incompleteSeconds = 23 * 3600

export interface SubscriptionInput {
  customer: string
  items: { price: string; quantity?: number | undefined }[]
  collection_method?: 'charge_automatically' | 'send_invoice' | undefined
  days_until_due?: number | undefined
  default_payment_method?: string | undefined
  payment_behavior?: 'allow_incomplete' | 'default_incomplete' | 'error_if_incomplete' | undefined
  metadata?: Stripe.Metadata | undefined
}

/** Subscribes a customer from now on; the first invoice is made and paid in the same step. */
export async function createSubscription(step: Step, input: SubscriptionInput): Promise<Stripe.Subscription> {
  const found = await getObject(step.db, 'customer', input.customer, 'customer')
  const collection = input.collection_method ?? 'charge_automatically'
  if (collection === 'send_invoice' && input.days_until_due === undefined) {
    throw invalid('Invoices that are sent need days_until_due.', 'days_until_due', 'parameter_missing')
  }
  const methodId =
    input.default_payment_method ?? (found.invoice_settings.default_payment_method as string | null)
  const method =
    methodId === null ? null : await requireOwnMethod(step.db, found.id, methodId, 'default_payment_method')
  if (method === null && collection === 'charge_automatically') {
    throw invalid(
      'This customer has no attached payment source or default payment method.',
      undefined,
      'resource_missing',
    )
  }
  const id = newId('sub')
  const end = periodEnd(step.second, step.second)
  const period = { start: step.second, end }
  const prices = []
  for (const { price } of input.items) prices.push(await findPrice(step.db, price))
  requireDistinct(prices)
  const [first] = prices
  if (first === undefined) throw invalid('A subscription needs an item.', 'items', 'parameter_missing')
  if (prices.some(({ currency }) => currency !== first.currency)) {
    throw invalid('All prices of a subscription have the same currency.', 'items')
  }
  const customer = await saveObject(step, { ...found, currency: first.currency })
  let subscription = await insertObject<Stripe.Subscription>(
    step,
    {
      id,
      object: 'subscription',
      application: null,
      application_fee_percent: null,
      automatic_tax: { disabled_reason: null, enabled: false, liability: null },
      billing_cycle_anchor: step.second,
      billing_cycle_anchor_config: null,
      billing_mode: { flexible: null, type: 'classic' },
      billing_schedules: [],
      billing_thresholds: null,
      cancel_at: null,
      cancel_at_period_end: false,
      canceled_at: null,
      cancellation_details: null,
      collection_method: collection,
      created: step.second,
      currency: first.currency,
      customer: customer.id,
      customer_account: null,
      days_until_due: collection === 'send_invoice' ? (input.days_until_due ?? null) : null,
      default_payment_method: input.default_payment_method ?? null,
      default_source: null,
      default_tax_rates: [],
      description: null,
      discounts: [],
      ended_at: null,
      invoice_settings: {
        account_tax_ids: null,
        custom_fields: null,
        description: null,
        footer: null,
        issuer: { type: 'self' },
      },
      items: {
        object: 'list',
        data: prices.map((price, index) => buildItem(step, id, price, period, input.items[index]?.quantity)),
        has_more: false,
        url: `/v1/subscription_items?subscription=${id}`,
      },
      latest_invoice: null,
      livemode: false,
      managed_payments: null,
      metadata: input.metadata ?? {},
      next_pending_invoice_item_invoice: null,
      on_behalf_of: null,
      pause_collection: null,
      payment_settings: {
        payment_method_options: null,
        payment_method_types: null,
        save_default_payment_method: 'off',
      },
      pending_invoice_item_interval: null,
      pending_setup_intent: null,
      pending_update: null,
      schedule: null,
      start_date: step.second,
      status: 'active',
      test_clock: null,
      transfer_data: null,
      trial_end: null,
      trial_settings: null,
      trial_start: null,
    } satisfies Stripe.Subscription,
    new Date(end * 1000),
  )
  const invoice = await createInvoice(step, {
    customer,
    subscription,
    reason: 'subscription_create',
    currency: first.currency,
    period: { start: step.second, end: step.second },
    collectionMethod: collection,
    autoAdvance: true,
    lines: async (invoiceId) => [
      ...(await takePendingItems(step, customer.id, invoiceId)),
      ...(await subscriptionLines(step, subscription, { start: step.second, end: step.second }, period)),
    ],
  })
  const mustSucceed = input.payment_behavior === 'error_if_incomplete'
  const finalized = await finalizeInvoice(step, invoice, subscription.days_until_due)
  subscription = { ...subscription, latest_invoice: finalized.id }
  if (method !== null && collection === 'charge_automatically') {
    if (mustSucceed) await requireUsable(step, method, finalized.amount_due)
    if (finalized.status === 'open') {
      const { refusal } = await attemptPayment(step, finalized, method, false)
      if (refusal !== null && mustSucceed) throw refused(refusal)
      if (refusal !== null) subscription = { ...subscription, status: 'incomplete' }
    }
  }
  const dueAt = subscription.status === 'incomplete' ? step.second + incompleteSeconds : end
  await saveObject(step, subscription, new Date(dueAt * 1000))
  await recordEvent(step, 'customer.subscription.created', subscription)
  return subscription
}

/**
 * Refuses a card that could not be charged without its owner, also where the first invoice is zero. Stripe would find out at the
 * first invoice that is not; a sandbox in which nothing can be refused would leave nothing to try.
 */
async function requireUsable(step: Step, method: Stripe.PaymentMethod, amount: number): Promise<void> {
  const isSavedToFailLater = amount === 0 && testCardOf(method).charge === 'declines'
  if (isSavedToFailLater && !isExpired(method, step.now)) return
  const refusal = await checkCharge(step, method, false)
  if (refusal !== null) throw refused(refusal)
}

export interface SubscriptionChanges {
  items?: ItemInput[] | undefined
  collection_method?: 'charge_automatically' | 'send_invoice' | undefined
  days_until_due?: number | undefined
  default_payment_method?: string | undefined
  cancel_at_period_end?: boolean | undefined
  metadata?: Stripe.Metadata | undefined
}

export async function updateSubscription(
  step: Step,
  id: string,
  changes: SubscriptionChanges,
): Promise<Stripe.Subscription> {
  const found = await getObject(step.db, 'subscription', id)
  requireLive(found)
  const customerId = found.customer as string
  const { default_payment_method: card } = changes
  if (card !== undefined && card !== '') {
    await requireOwnMethod(step.db, customerId, card, 'default_payment_method')
  }
  const collection = changes.collection_method ?? found.collection_method
  const daysUntilDue = collection === 'send_invoice' ? (changes.days_until_due ?? found.days_until_due) : null
  if (collection === 'send_invoice' && daysUntilDue === null) {
    throw invalid('Invoices that are sent need days_until_due.', 'days_until_due', 'parameter_missing')
  }
  const updated = await saveObject(step, {
    ...found,
    collection_method: collection,
    days_until_due: daysUntilDue,
    default_payment_method: card === undefined ? found.default_payment_method : card === '' ? null : card,
    cancel_at_period_end: changes.cancel_at_period_end ?? found.cancel_at_period_end,
    metadata: mergeMetadata(found.metadata, changes.metadata),
    items: { ...found.items, data: await changeItems(step, found, changes.items ?? []) },
  })
  if (collection === 'charge_automatically' && changes.collection_method !== undefined) {
    const customer = await findObject(step.db, 'customer', customerId)
    if (
      (updated.default_payment_method ?? customer?.invoice_settings.default_payment_method ?? null) === null
    ) {
      throw missing('PaymentMethod', 'default', 'default_payment_method', 400)
    }
  }
  await recordEvent(step, 'customer.subscription.updated', updated)
  return updated
}

export async function cancelSubscription(step: Step, id: string): Promise<Stripe.Subscription> {
  const found = await getObject(step.db, 'subscription', id)
  requireLive(found)
  return endSubscription(step, found, 'canceled')
}

export async function endSubscription(
  step: Step,
  subscription: Stripe.Subscription,
  status: 'canceled' | 'incomplete_expired',
): Promise<Stripe.Subscription> {
  const ended = await saveObject(
    step,
    { ...subscription, status, canceled_at: step.second, ended_at: step.second },
    null,
  )
  const type = status === 'canceled' ? 'customer.subscription.deleted' : 'customer.subscription.updated'
  await recordEvent(step, type, ended)
  return ended
}

function requireLive(subscription: Stripe.Subscription): void {
  if (subscription.status === 'canceled' || subscription.status === 'incomplete_expired') {
    throw missing('subscription', subscription.id, 'id')
  }
}
