import { Stripe } from 'stripe'
import { z } from 'zod'
import { settleSubscription } from './clock.ts'
import { mergeMetadata } from './customers.ts'
import { invalid, refused } from './errors.ts'
import { recordEvent } from './events.ts'
import { takePendingItems } from './invoice-lines.ts'
import { createInvoice, finalizeInvoice, voidInvoice } from './invoices.ts'
import { currency, filled, flag, metadata, text, whole } from './parameters.ts'
import { requireOwnMethod } from './payment-methods.ts'
import { payInvoice } from './pay-invoice.ts'
import { Refused, writeRoute } from './route.ts'
import type { WriteRoute } from './route.ts'
import { getObject, insertObject, newId, saveObject } from './store.ts'
import type { Step } from './store.ts'

async function createItem(
  step: Step,
  input: { customer: string; amount: number; currency: string; description?: string | undefined },
): Promise<Stripe.InvoiceItem> {
  await getObject(step.db, 'customer', input.customer, 'customer')
  const item = await insertObject(step, {
    id: newId('ii'),
    object: 'invoiceitem',
    amount: input.amount,
    currency: input.currency,
    customer: input.customer,
    customer_account: null,
    date: step.second,
    description: input.description ?? null,
    discountable: true,
    discounts: [],
    invoice: null,
    livemode: false,
    metadata: {},
    net_amount: input.amount,
    parent: null,
    period: { start: step.second, end: step.second },
    pricing: null,
    proration: false,
    quantity: 1,
    quantity_decimal: Stripe.Decimal.from('1'),
    tax_rates: [],
    test_clock: null,
  } satisfies Stripe.InvoiceItem)
  await recordEvent(step, 'invoiceitem.created', item)
  return item
}

export const invoiceRoutes: readonly WriteRoute[] = [
  writeRoute(
    'POST',
    '/v1/invoiceitems',
    z.strictObject({ customer: filled, amount: whole, currency, description: text.optional() }),
    createItem,
  ),
  writeRoute(
    'POST',
    '/v1/invoices',
    z.strictObject({
      customer: filled,
      description: text.optional(),
      metadata: metadata.optional(),
      auto_advance: flag.optional(),
      collection_method: z.enum(['charge_automatically', 'send_invoice']).optional(),
      pending_invoice_items_behavior: z.enum(['include', 'exclude']).optional(),
    }),
    async (step, input) => {
      const customer = await getObject(step.db, 'customer', input.customer, 'customer')
      return createInvoice(step, {
        customer,
        subscription: null,
        reason: 'manual',
        currency: customer.currency ?? 'usd',
        period: { start: step.second, end: step.second },
        collectionMethod: input.collection_method ?? 'charge_automatically',
        description: input.description ?? null,
        metadata: input.metadata ?? {},
        autoAdvance: input.auto_advance ?? false,
        lines: async (id) =>
          input.pending_invoice_items_behavior === 'include' ? takePendingItems(step, customer.id, id) : [],
      })
    },
  ),
  writeRoute(
    'POST',
    '/v1/invoices/:id',
    z.strictObject({ description: text.optional(), metadata: metadata.optional() }),
    async (step, input, id) => {
      const invoice = await getObject(step.db, 'invoice', id)
      const updated = await saveObject(step, {
        ...invoice,
        description: input.description ?? invoice.description,
        metadata: mergeMetadata(invoice.metadata, input.metadata),
      })
      await recordEvent(step, 'invoice.updated', updated)
      return updated
    },
  ),
  writeRoute(
    'POST',
    '/v1/invoices/:id/finalize',
    z.strictObject({ auto_advance: flag.optional() }),
    async (step, _input, id) => finalizeInvoice(step, await getObject(step.db, 'invoice', id), null),
  ),
  writeRoute(
    'POST',
    '/v1/invoices/:id/pay',
    z.strictObject({ payment_method: filled.optional(), off_session: flag.optional() }),
    async (step, input, id) => {
      const invoice = await getObject(step.db, 'invoice', id)
      if (invoice.status === 'paid')
        throw invalid('Invoice is already paid', undefined, 'invoice_already_paid')
      const method =
        input.payment_method === undefined
          ? null
          : await requireOwnMethod(
              step.db,
              invoice.customer as string,
              input.payment_method,
              'payment_method',
            )
      const result = await payInvoice(step, invoice, method, input.off_session === false)
      return result.refusal === null ? result.invoice : new Refused(refused(result.refusal))
    },
  ),
  writeRoute('POST', '/v1/invoices/:id/void', z.strictObject({}), async (step, _input, id) => {
    const voided = await voidInvoice(step, await getObject(step.db, 'invoice', id))
    await settleSubscription(step, voided)
    return voided
  }),
]
