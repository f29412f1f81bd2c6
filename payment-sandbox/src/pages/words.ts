import { formatUnitAmount } from '../amounts.ts'
import type { Invoice, InvoiceLine, PaymentMethod } from '../object-types.ts'

export function describeCard({ card }: PaymentMethod): string {
  const brand = card.brand === 'mastercard' ? 'Mastercard' : 'Visa'
  return `${brand} •••• ${card.last4}, ${String(card.exp_month).padStart(2, '0')}/${card.exp_year}`
}

export function formatDate(second: number): string {
  return new Date(second * 1000).toISOString().slice(0, 10)
}

const statuses = { draft: 'Draft', open: 'Open', paid: 'Paid' }

export function describeStatus({ status }: Invoice): string {
  return statuses[status]
}

export function formatQuantity({ quantity_decimal: quantity }: InvoiceLine): string {
  return new Intl.NumberFormat('en').format(quantity as `${number}`)
}

/** The price of one unit, such as `$0.00001`. */
export function formatUnitPrice({ pricing, currency }: InvoiceLine): string {
  return formatUnitAmount(pricing.unit_amount_decimal, currency)
}
