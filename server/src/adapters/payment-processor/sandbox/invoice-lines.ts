import { Stripe } from 'stripe'
import { Exact } from '../decimal.ts'
import { sumUsage } from './meters.ts'
import { getObject, listObjects, newId, saveObject } from './store.ts'
import type { Step } from './store.ts'

/**
 * The lines of a subscription's invoice: what was used in [from, to), and what is paid ahead for the period after. Each line is
 * rounded to the smallest currency unit, halves away from zero, as Stripe rounds the product of quantity and price.
 */
export async function subscriptionLines(
  step: Step,
  subscription: Stripe.Subscription,
  used: { start: number; end: number },
  ahead: { start: number; end: number } | null,
): Promise<Stripe.InvoiceLineItem[]> {
  const lines: Stripe.InvoiceLineItem[] = []
  for (const item of subscription.items.data) {
    const { price } = item
    const meterId = price.recurring?.meter ?? null
    let quantity: string
    let period = used
    if (meterId !== null) {
      const meter = await getObject(step.db, 'billing.meter', meterId)
      quantity = await sumUsage(
        step.db,
        meter.event_name,
        subscription.customer as string,
        used.start,
        used.end,
      )
    } else {
      if (ahead === null) continue
      quantity = String(item.quantity ?? 1)
      period = ahead
    }
    const unit = new Exact(String(price.unit_amount_decimal))
    const name = price.nickname ?? (await getObject(step.db, 'product', price.product as string)).name
    lines.push(
      buildLine({
        amount: unit.times(quantity).round().toNumber(),
        currency: subscription.currency,
        description: `${quantity} × ${name}`,
        quantity,
        unit: unit.toFixed(),
        period,
        subscription: subscription.id,
        parent: {
          type: 'subscription_item_details',
          invoice_item_details: null,
          subscription_item_details: {
            invoice_item: null,
            proration: false,
            proration_details: null,
            subscription: subscription.id,
            subscription_item: item.id,
          },
        },
        price,
      }),
    )
  }
  return lines
}

/** The customer's items that wait for an invoice, taken onto this one. */
export async function takePendingItems(
  step: Step,
  customerId: string,
  invoiceId: string,
): Promise<Stripe.InvoiceLineItem[]> {
  const items = await listObjects(step.db, 'invoiceitem', {
    customer: customerId,
    contains: { invoice: null },
  })
  const lines: Stripe.InvoiceLineItem[] = []
  for (const item of items.toReversed()) {
    await saveObject(step, { ...item, invoice: invoiceId })
    lines.push(
      buildLine({
        amount: item.amount,
        currency: item.currency,
        description: item.description,
        quantity: '1',
        unit: String(item.amount),
        period: item.period,
        subscription: null,
        parent: {
          type: 'invoice_item_details',
          subscription_item_details: null,
          invoice_item_details: {
            invoice_item: item.id,
            proration: false,
            proration_details: null,
            subscription: null,
          },
        },
        price: null,
      }),
    )
  }
  return lines
}

function buildLine(line: {
  amount: number
  currency: string
  description: string | null
  quantity: string
  unit: string
  period: { start: number; end: number }
  subscription: string | null
  parent: Stripe.InvoiceLineItem.Parent
  price: Stripe.Price | null
}): Stripe.InvoiceLineItem {
  return {
    id: newId('il'),
    object: 'line_item',
    amount: line.amount,
    currency: line.currency,
    description: line.description,
    discount_amounts: [],
    discountable: true,
    discounts: [],
    invoice: null,
    livemode: false,
    metadata: {},
    parent: line.parent,
    period: { start: line.period.start, end: line.period.end },
    pretax_credit_amounts: [],
    pricing: {
      ...(line.price === null
        ? {}
        : { price_details: { price: line.price.id, product: line.price.product as string } }),
      type: 'price_details',
      unit_amount_decimal: Stripe.Decimal.from(line.unit),
    },
    quantity: /^\d+$/.test(line.quantity) ? Number(line.quantity) : null,
    quantity_decimal: Stripe.Decimal.from(line.quantity),
    subscription: line.subscription,
    subtotal: line.amount,
    taxes: [],
  } satisfies Stripe.InvoiceLineItem
}
