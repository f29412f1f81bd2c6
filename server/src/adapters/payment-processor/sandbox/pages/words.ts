import type { Stripe } from 'stripe'
import { formatUnitAmount } from '../../decimal.ts'

export function describeCard({ card }: Stripe.PaymentMethod): string {
  if (card === undefined) return 'Card'
  const brand = card.brand === 'mastercard' ? 'Mastercard' : card.brand === 'visa' ? 'Visa' : card.brand
  return `${brand} •••• ${card.last4}, ${String(card.exp_month).padStart(2, '0')}/${card.exp_year}`
}

export function formatDate(second: number): string {
  return new Date(second * 1000).toISOString().slice(0, 10)
}

const statusWords: Record<string, string> = { open: 'To be paid', paid: 'Paid', void: 'Void' }

export function describeStatus({ status }: Stripe.Invoice): string {
  return statusWords[status ?? ''] ?? 'Not ready'
}

/** Lines of what was used; all of them where nothing was. */
export function usedLines(invoice: Stripe.Invoice): Stripe.InvoiceLineItem[] {
  const used = invoice.lines.data.filter(({ quantity_decimal: quantity }) => String(quantity) !== '0')
  return used.length === 0 ? invoice.lines.data : used
}

/** The price of one unit on a line, such as `$0.00001`. */
export function formatUnit({ pricing, currency }: Stripe.InvoiceLineItem): string {
  const amount = pricing?.unit_amount_decimal ?? null
  return amount === null ? '' : formatUnitAmount(String(amount), currency)
}
