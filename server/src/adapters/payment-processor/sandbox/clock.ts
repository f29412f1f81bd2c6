import type { Stripe } from 'stripe'
import { recordEvent } from './events.ts'
import { subscriptionLines, takePendingItems } from './invoice-lines.ts'
import {
  attemptPayment,
  createInvoice,
  finalizeInvoice,
  findPayingMethod,
  subscriptionOf,
  voidInvoice,
  withLines,
} from './invoices.ts'
import { periodEnd } from './periods.ts'
import { expireSession } from './setup.ts'
import { findObject, getObject, listObjects, saveObject } from './store.ts'
import type { SandboxObject, Step } from './store.ts'
import { endSubscription } from './subscriptions.ts'

/** Does what an object's time has come for. */
export async function advanceObject(step: Step, object: SandboxObject): Promise<void> {
  switch (object.object) {
    case 'checkout.session':
      if (object.status === 'open') await expireSession(step, object)
      return
    case 'subscription':
      return object.status === 'incomplete' ? giveUp(step, object) : endPeriod(step, object)
    case 'invoice':
      return object.status === 'draft' ? advanceDraft(step, object) : collect(step, object)
    default:
      throw new Error(`Nothing is due for ${object.id}`)
  }
}

async function giveUp(step: Step, subscription: Stripe.Subscription): Promise<void> {
  await endSubscription(step, subscription, 'incomplete_expired')
  for (const invoice of await listInvoicesOf(step, subscription.id)) {
    if (invoice.status === 'open') await voidInvoice(step, invoice)
  }
}

/** Closes a subscription's period with an invoice and begins the next one. */
async function endPeriod(step: Step, subscription: Stripe.Subscription): Promise<void> {
  const [item] = subscription.items.data
  if (item === undefined) throw new Error(`The subscription ${subscription.id} has no items`)
  const ended = { start: item.current_period_start, end: item.current_period_end }
  const next = { start: ended.end, end: periodEnd(subscription.billing_cycle_anchor, ended.end) }
  const customer = await getObject(step.db, 'customer', subscription.customer as string)
  const ends = subscription.cancel_at_period_end
  const invoice = await createInvoice(step, {
    customer,
    subscription,
    reason: 'subscription_cycle',
    currency: subscription.currency,
    period: ended,
    collectionMethod: subscription.collection_method,
    autoAdvance: subscription.status !== 'unpaid',
    lines: async (id) => [
      ...(await takePendingItems(step, customer.id, id)),
      ...(await subscriptionLines(step, subscription, ended, ends ? null : next)),
    ],
  })
  const invoiced = { ...subscription, latest_invoice: invoice.id }
  if (ends) {
    await endSubscription(step, invoiced, 'canceled')
    return
  }
  const data = invoiced.items.data.map((each) => ({
    ...each,
    current_period_start: next.start,
    current_period_end: next.end,
  }))
  const moved = { ...invoiced, items: { ...invoiced.items, data } }
  await saveObject(step, moved, new Date(next.end * 1000))
  await recordEvent(step, 'customer.subscription.updated', moved)
}

/** Counts the usage once more, because some may have come late, then finalizes and charges. */
async function advanceDraft(step: Step, draft: Stripe.Invoice): Promise<void> {
  const subscriptionId = subscriptionOf(draft)
  const subscription =
    subscriptionId === null ? null : await findObject(step.db, 'subscription', subscriptionId)
  let counted = draft
  if (subscription !== null) {
    const period = { start: draft.period_start, end: draft.period_end }
    const metered = await subscriptionLines(step, subscription, period, null)
    const itemOf = (line: Stripe.InvoiceLineItem) => line.parent?.subscription_item_details?.subscription_item
    const recounted = new Set(metered.map(itemOf))
    const kept = draft.lines.data.filter((line) => !recounted.has(itemOf(line)))
    counted = withLines(draft, [...kept, ...metered])
  }
  const open = await finalizeInvoice(step, counted, subscription?.days_until_due ?? null)
  if (open.status === 'open' && open.collection_method === 'charge_automatically') {
    await attemptPayment(step, open, await findPayingMethod(step, open), false)
  }
  await settleSubscription(step, open)
}

async function collect(step: Step, invoice: Stripe.Invoice): Promise<void> {
  if (invoice.collection_method === 'charge_automatically') {
    await attemptPayment(step, invoice, await findPayingMethod(step, invoice), false)
  } else {
    await saveObject(step, invoice, null)
    await recordEvent(step, 'invoice.overdue', invoice)
  }
  await settleSubscription(step, invoice)
}

/** Brings a subscription's status in line with its invoices, after one of them was paid or wasn't. */
export async function settleSubscription(step: Step, invoice: Stripe.Invoice): Promise<void> {
  const id = subscriptionOf(invoice)
  const subscription = id === null ? null : await findObject(step.db, 'subscription', id)
  if (subscription === null || subscription.ended_at !== null) return
  const invoices = await listInvoicesOf(step, subscription.id)
  const status = statusFor(subscription, invoices, step.second)
  if (status === subscription.status) return
  const [item] = subscription.items.data
  const settled = await saveObject(
    step,
    { ...subscription, status },
    item === undefined ? undefined : new Date(item.current_period_end * 1000),
  )
  await recordEvent(step, 'customer.subscription.updated', settled)
  const customer = await getObject(step.db, 'customer', subscription.customer as string)
  const delinquent = status !== 'active'
  if (customer.delinquent !== delinquent) {
    await recordEvent(step, 'customer.updated', await saveObject(step, { ...customer, delinquent }))
  }
  if (status !== 'active') return
  for (const draft of invoices.filter(({ status: each }) => each === 'draft')) {
    await saveObject(step, { ...draft, auto_advance: true }, step.now)
  }
}

/** Unpaid once an invoice's last attempt failed; past due while one waits for another attempt, or is late. */
function statusFor(
  subscription: Stripe.Subscription,
  invoices: readonly Stripe.Invoice[],
  second: number,
): 'active' | 'past_due' | 'unpaid' | 'incomplete' {
  const late = invoices.filter(
    ({ status, attempted, due_date: due, collection_method: method }) =>
      status === 'open' && (method === 'send_invoice' ? due !== null && due <= second : attempted),
  )
  if (late.length === 0) return 'active'
  if (subscription.status === 'incomplete') return 'incomplete'
  const isGivenUp = late.some(
    ({ collection_method: method, next_payment_attempt: next }) =>
      method === 'charge_automatically' && next === null,
  )
  return isGivenUp ? 'unpaid' : 'past_due'
}

function listInvoicesOf(step: Step, subscriptionId: string): Promise<Stripe.Invoice[]> {
  return listObjects(step.db, 'invoice', {
    contains: { parent: { subscription_details: { subscription: subscriptionId } } },
  })
}
