import type { Stripe } from 'stripe'
import { settleSubscription } from './clock.ts'
import type { Refusal } from './errors.ts'
import { attemptPayment, finalizeInvoice, findPayingMethod } from './invoices.ts'
import type { Step } from './store.ts'

/** Pays at once, a draft too; `null` for the card: the default one. `withOwner`: the customer is there and consents. */
export async function payInvoice(
  step: Step,
  invoice: Stripe.Invoice,
  method: Stripe.PaymentMethod | null,
  withOwner: boolean,
): Promise<{ invoice: Stripe.Invoice; refusal: Refusal | null }> {
  const open = invoice.status === 'draft' ? await finalizeInvoice(step, invoice, null) : invoice
  if (open.status === 'paid' && invoice.status === 'draft') return { invoice: open, refusal: null }
  const result = await attemptPayment(step, open, method ?? (await findPayingMethod(step, open)), withOwner)
  await settleSubscription(step, result.invoice)
  return result
}
