import type { Stripe } from 'stripe'
import type { InvoicedUsage, PaymentProcessor } from '../../../ports/payment-processor.ts'
import { toSeconds } from './context.ts'
import type { StripeContext } from './context.ts'
import { Exact, currencyDigits } from './decimal.ts'
import { nullIfMissing } from './errors.ts'
import { fromSeconds } from './objects.ts'

/** Reads the usage on invoices. */
export function invoicedUsageOperations({
  stripe,
}: StripeContext): Pick<PaymentProcessor, 'findInvoicedUsage'> {
  return {
    async findInvoicedUsage(customerId, periodEnd) {
      const invoices = await nullIfMissing(stripe.invoices.list({ customer: customerId, limit: 20 }))
      const invoice = invoices?.data.find(
        ({ period_end: end, period_start: start }) => end === toSeconds(periodEnd) && start < end,
      )
      if (invoice === undefined) return null
      const isFinal = invoice.status !== 'draft'
      const published = await Array.fromAsync(stripe.prices.list({ active: true, limit: 100 }))
      const prices = new Map(published.map((price) => [price.id, price]))
      const lines: InvoicedUsage['lines'] = []
      for await (const line of stripe.invoices.listLineItems(invoice.id, { limit: 100 })) {
        const price = prices.get(priceIdOf(line))
        const priceKey = price?.metadata.berth_key
        if (price === undefined || priceKey === undefined) continue
        const quantity = isFinal
          ? String(line.quantity_decimal ?? 0)
          : await countPeriod(stripe, price, customerId, line.period)
        lines.push({ priceKey, quantity, unitAmount: toMainUnits(price), amount: toMainAmount(line) })
      }
      return {
        invoiceId: invoice.id,
        isFinal,
        periodStart: fromSeconds(invoice.period_start),
        periodEnd: fromSeconds(invoice.period_end),
        lines,
      }
    },
  }
}

function priceIdOf({ pricing }: Stripe.InvoiceLineItem): string {
  const price = pricing?.price_details?.price
  return typeof price === 'string' ? price : (price?.id ?? '')
}

/** A draft's lines have the usage at its creation, and Stripe recounts them when it finalizes the invoice. */
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

/** The amount with all decimals of the currency, such as `12.30`. */
function toMainAmount({ amount, currency }: Stripe.InvoiceLineItem): string {
  const digits = currencyDigits(currency)
  return new Exact(amount).dividedBy(new Exact(10).pow(digits)).toFixed(digits)
}

function toMainUnits({ unit_amount_decimal: amount, currency }: Stripe.Price): string {
  return new Exact(String(amount ?? 0)).dividedBy(new Exact(10).pow(currencyDigits(currency))).toFixed()
}
