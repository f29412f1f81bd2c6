import type { Stripe } from 'stripe'
import { Exact } from './amounts.ts'
import type { SandboxDatabase } from './database.ts'
import { recordEvent } from './events.ts'
import { sumUsage } from './meters.ts'
import type { Invoice, InvoiceLine, Subscription, SubscriptionItem, Wire } from './object-types.ts'
import { getObject, insertObject, newId, saveObject } from './objects.ts'
import type { Change } from './store.ts'
import type { Period } from './subscription-items.ts'

/** How long an invoice stays a draft, so that late usage still reaches it. */
const draftSeconds = 3600
const day = 86_400

/** Creates a draft with the usage so far; usage counts until its finalization, an hour after the period. */
export async function createInvoice(
  change: Change,
  subscription: Subscription,
  period: Period,
): Promise<Invoice> {
  const customer = await getObject(change.db, 'customer', subscription.customer)
  const id = newId('in')
  const empty: Invoice = {
    id,
    object: 'invoice',
    amount_due: 0,
    amount_paid: 0,
    attempt_count: 0,
    billing_reason: period.start === period.end ? 'subscription_create' : 'subscription_cycle',
    collection_method: subscription.collection_method,
    created: change.second,
    currency: subscription.currency,
    customer: customer.id,
    customer_email: customer.email,
    customer_name: customer.name,
    due_date: null,
    effective_at: null,
    hosted_invoice_url: null,
    invoice_pdf: null,
    lines: {
      object: 'list',
      data: subscription.items.data.map((item) => buildLine(item, period)),
      has_more: false,
      url: `/v1/invoices/${id}/lines`,
    },
    next_payment_attempt: null,
    number: null,
    parent: { type: 'subscription_details', subscription_details: { subscription: subscription.id } },
    period_end: period.end,
    period_start: period.start,
    status: 'draft',
    total: 0,
  } satisfies Wire<Stripe.Invoice>
  const invoice = await countUsage(change.db, empty)
  await insertObject(change, invoice, new Date((change.second + draftSeconds) * 1000))
  await recordEvent(change, 'invoice.created', invoice)
  return invoice
}

/** Counts the usage, fixes the amounts and assigns the number. An invoice of zero is paid by that. */
export async function finalizeInvoice(change: Change, draft: Invoice): Promise<Invoice> {
  const { db, second } = change
  const subscription = await getSubscriptionOf(change, draft)
  const customer = await getObject(db, 'customer', draft.customer)
  const sequence = customer.next_invoice_sequence
  await saveObject(change, { ...customer, next_invoice_sequence: sequence + 1 })
  const counted = await countUsage(db, draft)
  const dueDate =
    draft.collection_method === 'send_invoice' ? second + (subscription.days_until_due ?? 30) * day : null
  const finalized = await saveObject(
    change,
    {
      ...counted,
      due_date: dueDate,
      effective_at: second,
      lines: {
        ...draft.lines,
        data: counted.lines.data.filter(({ quantity_decimal: quantity }) => quantity !== '0'),
      },
      number: `${customer.invoice_prefix}-${String(sequence).padStart(4, '0')}`,
      status: 'open' as const,
    },
    dueDate === null ? null : new Date(dueDate * 1000),
  )
  await recordEvent(change, 'invoice.finalized', finalized)
  return finalized.amount_due === 0 ? markPaid(change, finalized) : finalized
}

export async function markPaid(change: Change, invoice: Invoice): Promise<Invoice> {
  const paid = {
    ...invoice,
    amount_paid: invoice.amount_due,
    next_payment_attempt: null,
    status: 'paid' as const,
  }
  await saveObject(change, paid, null)
  await recordEvent(change, 'invoice.paid', paid)
  return paid
}

export function getSubscriptionOf({ db }: Change, { parent }: Invoice): Promise<Subscription> {
  return getObject(db, 'subscription', parent.subscription_details.subscription)
}

/** A line without usage. An item that was added during the period counts from then on. */
function buildLine({ price, created }: SubscriptionItem, { start, end }: Period): InvoiceLine {
  return {
    id: newId('il'),
    object: 'line_item',
    amount: 0,
    currency: price.currency,
    description: price.nickname,
    period: { start: Math.min(end, Math.max(start, created)), end },
    pricing: {
      type: 'price_details',
      price_details: { price: price.id, product: price.product },
      unit_amount_decimal: price.unit_amount_decimal,
    },
    quantity_decimal: '0',
  } satisfies Wire<Stripe.InvoiceLineItem>
}

/** A draft with usage until now. Like Stripe, rounds lines to the smallest unit, halves away from zero. */
async function countUsage(db: SandboxDatabase, draft: Invoice): Promise<Invoice> {
  const data: InvoiceLine[] = []
  for (const line of draft.lines.data) {
    const price = await getObject(db, 'price', line.pricing.price_details.price)
    const meter = await getObject(db, 'billing.meter', price.recurring.meter)
    const quantity = await sumUsage(db, meter.event_name, draft.customer, line.period)
    const amount = new Exact(price.unit_amount_decimal).times(quantity).round().toNumber()
    data.push({ ...line, amount, quantity_decimal: quantity })
  }
  const total = data.reduce((sum, { amount }) => sum + amount, 0)
  return { ...draft, amount_due: total, total, lines: { ...draft.lines, data } }
}
