import { checkCharge } from './cards.ts'
import { invalid } from './errors.ts'
import type { Refusal } from './errors.ts'
import { recordEvent } from './events.ts'
import { getSubscriptionOf, markPaid } from './invoices.ts'
import type { Invoice, PaymentMethod, Subscription } from './object-types.ts'
import { findObject, getObject, listObjects, saveObject } from './objects.ts'
import type { Change } from './store.ts'

const day = 86_400
/** Backoff between the attempts to charge a failed invoice. */
const retryWaits = [3 * day, 5 * day, 7 * day]

const noCard: Refusal = {
  code: 'card_declined',
  declineCode: 'no_card',
  message: 'There is no card to charge.',
}

/**
 * Charges an open invoice and updates the subscription's status. A refusal is stored with the time of the
 * next attempt. `approved`: the owner of the card is present and the bank approves.
 */
export async function chargeInvoice(
  change: Change,
  invoice: Invoice,
  card: PaymentMethod | null,
  approved: boolean,
): Promise<Refusal | null> {
  if (invoice.status !== 'open') {
    throw invalid(`This invoice is ${invoice.status}.`, undefined, 'invoice_not_editable')
  }
  const refusal = card === null ? noCard : checkCharge(card, change.now, approved)
  if (refusal === null) await markPaid(change, { ...invoice, attempt_count: invoice.attempt_count + 1 })
  else await recordFailure(change, invoice)
  await updateStatus(change, invoice)
  return refusal
}

async function recordFailure(change: Change, invoice: Invoice): Promise<void> {
  const isCharged = invoice.collection_method === 'charge_automatically'
  const wait = isCharged ? retryWaits[invoice.attempt_count] : undefined
  const nextAttempt = wait === undefined ? null : change.second + wait
  const failed = { ...invoice, attempt_count: invoice.attempt_count + 1, next_payment_attempt: nextAttempt }
  const dueAt = nextAttempt === null ? null : new Date(nextAttempt * 1000)
  // The next step of a sent invoice is still its due date.
  await saveObject(change, failed, isCharged ? dueAt : undefined)
  await recordEvent(change, 'invoice.payment_failed', failed)
}

/** Charges the card of the subscription, or else the customer's default card. */
export async function chargeDefaultCard(change: Change, invoice: Invoice): Promise<void> {
  const subscription = await getSubscriptionOf(change, invoice)
  const customer = await getObject(change.db, 'customer', invoice.customer)
  const id = subscription.default_payment_method ?? customer.invoice_settings.default_payment_method
  const card = id === null ? null : await findObject(change.db, 'payment_method', id)
  await chargeInvoice(change, invoice, card, false)
}

export async function markOverdue(change: Change, invoice: Invoice): Promise<void> {
  await saveObject(change, invoice, null)
  await recordEvent(change, 'invoice.overdue', invoice)
  await updateStatus(change, invoice)
}

/** Derives a subscription's status from its invoices after one of them was charged or became overdue. */
async function updateStatus(change: Change, invoice: Invoice): Promise<void> {
  const subscription = await getSubscriptionOf(change, invoice)
  if (subscription.ended_at !== null) return
  const invoices = await listObjects(change.db, 'invoice', {
    contains: { status: 'open', parent: { subscription_details: { subscription: subscription.id } } },
  })
  const status = deriveStatus(invoices, change.second)
  if (status === subscription.status) return
  const updated = await saveObject(change, { ...subscription, status })
  await recordEvent(change, 'customer.subscription.updated', updated)
}

/** `unpaid` after an invoice's last attempt failed; `past_due` before that, or after a due date */
function deriveStatus(open: readonly Invoice[], second: number): Exclude<Subscription['status'], 'canceled'> {
  const late = open.filter(({ attempt_count: attempts, due_date: due, collection_method: method }) =>
    method === 'send_invoice' ? due !== null && due <= second : attempts > 0,
  )
  const isGivenUp = late.some(
    ({ collection_method: method, next_payment_attempt: next }) =>
      method === 'charge_automatically' && next === null,
  )
  return isGivenUp ? 'unpaid' : late.length > 0 ? 'past_due' : 'active'
}
