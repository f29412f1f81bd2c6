import type { Stripe } from 'stripe'
import { recordEvent } from './events.ts'
import { invalid } from './errors.ts'
import type { Refusal } from './errors.ts'
import { checkCharge } from './payment-methods.ts'
import { findObject, getObject, insertObject, newId, saveObject } from './store.ts'
import type { Step } from './store.ts'

const hour = 3600
const day = 24 * hour
/** A subscription's invoice stays a draft for so long, in which late usage still reaches it. */
const draftSeconds = hour
/** Waits between the attempts at a failed payment, one after the other. */
const retryWaits = [3 * day, 5 * day, 7 * day]

export interface InvoiceInput {
  customer: Stripe.Customer
  subscription: Stripe.Subscription | null
  reason: 'subscription_create' | 'subscription_cycle' | 'manual'
  currency: string
  period: { start: number; end: number }
  collectionMethod: string
  description?: string | null
  metadata?: Stripe.Metadata
  /** false: it stays a draft until somebody finalizes it */
  autoAdvance: boolean
  lines(invoiceId: string): Promise<Stripe.InvoiceLineItem[]>
}

export async function createInvoice(step: Step, input: InvoiceInput): Promise<Stripe.Invoice> {
  const id = newId('in')
  const { subscription, customer } = input
  const finalizesAt =
    input.autoAdvance && input.reason === 'subscription_cycle' ? step.second + draftSeconds : null
  const invoice = await insertObject(
    step,
    withLines(
      {
        id,
        object: 'invoice',
        account_country: 'US',
        account_name: 'Sandbox',
        account_tax_ids: null,
        amount_due: 0,
        amount_overpaid: 0,
        amount_paid: 0,
        amount_remaining: 0,
        amount_shipping: 0,
        application: null,
        attempt_count: 0,
        attempted: false,
        auto_advance: input.autoAdvance,
        automatic_tax: {
          disabled_reason: null,
          enabled: false,
          liability: null,
          provider: null,
          status: null,
        },
        automatically_finalizes_at: finalizesAt,
        billing_reason: input.reason,
        collection_method: input.collectionMethod,
        created: step.second,
        currency: input.currency,
        custom_fields: null,
        customer: customer.id,
        customer_account: null,
        customer_address: null,
        customer_email: customer.email,
        customer_name: customer.name ?? null,
        customer_phone: null,
        customer_shipping: null,
        customer_tax_exempt: 'none',
        customer_tax_ids: [],
        default_payment_method: null,
        default_source: null,
        default_tax_rates: [],
        description: input.description ?? null,
        discounts: [],
        due_date: null,
        effective_at: null,
        ending_balance: null,
        footer: null,
        from_invoice: null,
        hosted_invoice_url: null,
        invoice_pdf: null,
        issuer: { type: 'self' },
        last_finalization_error: null,
        latest_revision: null,
        lines: { object: 'list', data: [], has_more: false, url: `/v1/invoices/${id}/lines` },
        livemode: false,
        metadata: input.metadata ?? {},
        next_payment_attempt: null,
        number: null,
        on_behalf_of: null,
        parent:
          subscription === null
            ? null
            : {
                quote_details: null,
                subscription_details: { metadata: subscription.metadata, subscription: subscription.id },
                type: 'subscription_details',
              },
        payment_settings: { default_mandate: null, payment_method_options: null, payment_method_types: null },
        period_end: input.period.end,
        period_start: input.period.start,
        post_payment_credit_notes_amount: 0,
        pre_payment_credit_notes_amount: 0,
        receipt_number: null,
        rendering: null,
        shipping_cost: null,
        shipping_details: null,
        starting_balance: 0,
        statement_descriptor: null,
        status: 'draft',
        status_transitions: {
          finalized_at: null,
          marked_uncollectible_at: null,
          paid_at: null,
          voided_at: null,
        },
        subtotal: 0,
        subtotal_excluding_tax: 0,
        test_clock: null,
        total: 0,
        total_discount_amounts: [],
        total_excluding_tax: 0,
        total_pretax_credit_amounts: [],
        total_taxes: [],
        webhooks_delivered_at: null,
      } satisfies Stripe.Invoice,
      await input.lines(id),
    ),
    finalizesAt === null ? null : new Date(finalizesAt * 1000),
  )
  await recordEvent(step, 'invoice.created', invoice)
  return invoice
}

export function withLines(invoice: Stripe.Invoice, lines: Stripe.InvoiceLineItem[]): Stripe.Invoice {
  const total = lines.reduce((sum, { amount }) => sum + amount, 0)
  return {
    ...invoice,
    lines: { ...invoice.lines, data: lines.map((line) => ({ ...line, invoice: invoice.id })) },
    amount_due: total,
    amount_remaining: total,
    subtotal: total,
    subtotal_excluding_tax: total,
    total,
    total_excluding_tax: total,
  }
}

/** Fixes the amounts and gives the invoice its number and pages. What costs nothing is paid by that. */
export async function finalizeInvoice(
  step: Step,
  draft: Stripe.Invoice,
  daysUntilDue: number | null,
): Promise<Stripe.Invoice> {
  if (draft.status !== 'draft') {
    throw invalid('This invoice is already finalized.', undefined, 'invoice_not_editable')
  }
  const customer = await getObject(step.db, 'customer', draft.customer as string)
  const sequence = customer.next_invoice_sequence ?? 1
  await saveObject(step, { ...customer, next_invoice_sequence: sequence + 1 })
  const isSent = draft.collection_method === 'send_invoice'
  const dueDate = isSent ? step.second + (daysUntilDue ?? 30) * day : null
  const finalized = await saveObject(
    step,
    {
      ...draft,
      status: 'open' as const,
      number: `${customer.invoice_prefix}-${String(sequence).padStart(4, '0')}`,
      automatically_finalizes_at: null,
      effective_at: step.second,
      due_date: dueDate,
      ending_balance: 0,
      status_transitions: { ...draft.status_transitions, finalized_at: step.second },
      webhooks_delivered_at: step.second,
    },
    dueDate === null ? null : new Date(dueDate * 1000),
  )
  await recordEvent(step, 'invoice.finalized', finalized)
  if (finalized.amount_due === 0) return markPaid(step, finalized)
  if (isSent) await recordEvent(step, 'invoice.sent', finalized)
  return finalized
}

async function markPaid(step: Step, invoice: Stripe.Invoice): Promise<Stripe.Invoice> {
  const paid = await saveObject(
    step,
    {
      ...invoice,
      status: 'paid' as const,
      amount_paid: invoice.amount_due,
      amount_remaining: 0,
      next_payment_attempt: null,
      attempted: true,
      auto_advance: false,
      status_transitions: { ...invoice.status_transitions, paid_at: step.second },
    },
    null,
  )
  await recordEvent(step, 'invoice.paid', paid)
  await recordEvent(step, 'invoice.payment_succeeded', paid)
  return paid
}

/**
 * Charges an open invoice to a card, or to the default one. A refusal is recorded with the moment of the next attempt;
 * `withOwner`: the customer is there and consents to what the card asks.
 */
export async function attemptPayment(
  step: Step,
  invoice: Stripe.Invoice,
  method: Stripe.PaymentMethod | null,
  withOwner: boolean,
): Promise<{ invoice: Stripe.Invoice; refusal: Refusal | null }> {
  if (invoice.status !== 'open') {
    throw invalid(
      `This invoice is ${invoice.status}, so that it can’t be paid.`,
      undefined,
      'invoice_not_editable',
    )
  }
  const refusal: Refusal | null =
    method === null
      ? { code: 'card_declined', declineCode: 'no_card', message: 'There is no card to charge.' }
      : await checkCharge(step, method, withOwner)
  const attempted = { ...invoice, attempted: true, attempt_count: invoice.attempt_count + 1 }
  if (refusal === null) return { invoice: await markPaid(step, attempted), refusal }
  const wait = retryWaits[invoice.attempt_count]
  const retries = invoice.collection_method === 'charge_automatically' && invoice.auto_advance === true
  const nextAttempt = retries && wait !== undefined ? step.second + wait : null
  const failed = await saveObject(
    step,
    { ...attempted, next_payment_attempt: nextAttempt },
    // A sent invoice keeps its due date as what comes next.
    invoice.collection_method === 'send_invoice'
      ? undefined
      : nextAttempt === null
        ? null
        : new Date(nextAttempt * 1000),
  )
  await recordEvent(step, 'invoice.payment_failed', failed)
  if (refusal.code === 'authentication_required') {
    await recordEvent(step, 'invoice.payment_action_required', failed)
  }
  return { invoice: failed, refusal }
}

export async function voidInvoice(step: Step, invoice: Stripe.Invoice): Promise<Stripe.Invoice> {
  if (invoice.status !== 'open') {
    throw invalid(
      `Only open invoices can be voided; this one is ${invoice.status}.`,
      undefined,
      'invoice_not_editable',
    )
  }
  const voided = await saveObject(
    step,
    {
      ...invoice,
      status: 'void' as const,
      next_payment_attempt: null,
      status_transitions: { ...invoice.status_transitions, voided_at: step.second },
    },
    null,
  )
  await recordEvent(step, 'invoice.voided', voided)
  return voided
}

/** The card that an invoice is charged to: the subscription's own, else the customer's default. */
export async function findPayingMethod(
  step: Step,
  invoice: Stripe.Invoice,
): Promise<Stripe.PaymentMethod | null> {
  const subscriptionId = subscriptionOf(invoice)
  const subscription =
    subscriptionId === null ? null : await findObject(step.db, 'subscription', subscriptionId)
  const customer = await getObject(step.db, 'customer', invoice.customer as string)
  const id = subscription?.default_payment_method ?? customer.invoice_settings.default_payment_method
  return typeof id === 'string' ? findObject(step.db, 'payment_method', id) : null
}

export function subscriptionOf(invoice: Stripe.Invoice): string | null {
  return (invoice.parent?.subscription_details?.subscription as string | undefined) ?? null
}
