import type { Stripe } from 'stripe'
import type { InvoicedUsage, PaymentProcessor } from '../../../ports/payment-processor.ts'
import { toSeconds } from './context.ts'
import type { StripeContext } from './context.ts'
import { Exact } from '../../../base/decimal.ts'
import { currencyDigits } from './currencies.ts'
import { nullIfMissing } from './errors.ts'
import { fromSeconds } from './objects.ts'

/** Reads the usage on invoices. */
export function invoicedUsageOperations({
  stripe,
}: StripeContext): Pick<PaymentProcessor, 'listUsageInvoices' | 'findInvoicedUsage'> {
  return {
    async *listUsageInvoices(since) {
      for await (const invoice of stripe.invoices.list({ created: { gte: toSeconds(since) }, limit: 100 })) {
        const { id, parent, billing_reason: reason, created } = invoice
        if (parent?.type !== 'subscription_details' || reason === 'subscription_create') continue
        yield { id, customerId: customerIdOf(invoice), created: fromSeconds(created) }
      }
    },

    async findInvoicedUsage(invoiceId) {
      const invoice = await nullIfMissing(stripe.invoices.retrieve(invoiceId))
      if (invoice === null) return null
      const customerId = customerIdOf(invoice)
      const isFinal = invoice.status !== 'draft'
      const published = await Array.fromAsync(stripe.prices.list({ active: true, limit: 100 }))
      const prices = new Map(published.map((price) => [price.id, price]))
      const lines: InvoicedUsage['lines'] = []
      const periods: Stripe.InvoiceLineItem.Period[] = []
      for await (const line of stripe.invoices.listLineItems(invoice.id, { limit: 100 })) {
        const price = prices.get(priceIdOf(line))
        const priceKey = price?.metadata.berth_key
        if (price === undefined || priceKey === undefined) continue
        periods.push(line.period)
        const charged = isFinal ? readLine(line) : await countLine(stripe, price, customerId, line)
        lines.push({ priceKey, unitAmount: toMainUnits(price), ...charged })
      }
      return { invoiceId: invoice.id, customerId, isFinal, ...toUsagePeriod(invoice, periods), lines }
    },
  }
}

function customerIdOf({ customer }: Stripe.Invoice): string {
  return typeof customer === 'string' ? customer : (customer?.id ?? '')
}

function priceIdOf({ pricing }: Stripe.InvoiceLineItem): string {
  const price = pricing?.price_details?.price
  return typeof price === 'string' ? price : (price?.id ?? '')
}

/**
 * The period whose usage an invoice charges: that of its lines, which is the service period by Stripe's
 * documentation. Only the invoice at the end of a period has it too, also if nothing was used at its start.
 */
function toUsagePeriod(
  { billing_reason: reason, period_start: start, period_end: end }: Stripe.Invoice,
  periods: readonly Stripe.InvoiceLineItem.Period[],
): Pick<InvoicedUsage, 'periodStart' | 'periodEnd'> {
  const whole = reason === 'subscription_cycle' || periods.length === 0 ? [{ start, end }] : []
  const all = [...whole, ...periods]
  return {
    periodStart: fromSeconds(Math.min(...all.map((period) => period.start))),
    periodEnd: fromSeconds(Math.max(...all.map((period) => period.end))),
  }
}

type Charged = Pick<InvoicedUsage['lines'][number], 'quantity' | 'amount'>

function readLine(line: Stripe.InvoiceLineItem): Charged {
  return { quantity: String(line.quantity_decimal ?? 0), amount: toMainAmount(line, line.amount) }
}

/**
 * What a draft's line will charge. Stripe recounts it when it finalizes the invoice, so this adds the usage
 * since the draft and keeps a difference that the draft already has.
 */
async function countLine(
  stripe: Stripe,
  price: Stripe.Price,
  customerId: string,
  line: Stripe.InvoiceLineItem,
): Promise<Charged> {
  const quantity = await countPeriod(stripe, price, customerId, line.period)
  const since = new Exact(quantity).minus(String(line.quantity_decimal ?? 0))
  const amount = since.times(String(price.unit_amount_decimal ?? 0)).plus(line.amount)
  return { quantity, amount: toMainAmount(line, amount.round().toNumber()) }
}

/** The usage of a period at its meter. */
async function countPeriod(
  stripe: Stripe,
  { recurring }: Stripe.Price,
  customer: string,
  { start, end }: Stripe.InvoiceLineItem.Period,
): Promise<string> {
  let sum = new Exact(0)
  const summaries = stripe.billing.meters.listEventSummaries(recurring?.meter ?? '', {
    customer,
    // Summaries have whole minutes.
    start_time: Math.floor(start / 60) * 60,
    end_time: Math.ceil(end / 60) * 60,
  })
  for await (const { aggregated_value: value } of summaries) sum = sum.plus(value)
  return sum.toFixed()
}

/** An amount in the currency's main unit with all its decimals, such as `12.30`. */
function toMainAmount({ currency }: Stripe.InvoiceLineItem, amount: number): string {
  const digits = currencyDigits(currency)
  return new Exact(amount).dividedBy(new Exact(10).pow(digits)).toFixed(digits)
}

function toMainUnits({ unit_amount_decimal: amount, currency }: Stripe.Price): string {
  return new Exact(String(amount ?? 0)).dividedBy(new Exact(10).pow(currencyDigits(currency))).toFixed()
}
