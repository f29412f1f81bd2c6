import type { PaymentMethod } from '../../contract.ts'
import { text } from '../../text/index.ts'

/** Names a card for display: Visa •••• 4242 */
export function nameCard({ brand, last4 }: Pick<PaymentMethod, 'brand' | 'last4'>): string {
  return text.billing.card(text.billing.brand(brand), last4)
}

/** Names a card for screen readers: Visa ending in 4242 */
export function spokenCardName({ brand, last4 }: Pick<PaymentMethod, 'brand' | 'last4'>): string {
  return text.billing.cardSpoken(text.billing.brand(brand), last4)
}

/** Whether a card has expired or expires within two months. It is valid through its month's last day. */
export function expiryStatus(
  { exp_month: month, exp_year: year }: Pick<PaymentMethod, 'exp_month' | 'exp_year'>,
  now: number = Date.now(),
): 'valid' | 'soon' | 'expired' {
  const today = new Date(now)
  const monthsLeft = (year - today.getFullYear()) * 12 + (month - 1 - today.getMonth())
  if (monthsLeft < 0) return 'expired'
  return monthsLeft < 2 ? 'soon' : 'valid'
}

/** Formats the expiry month: 04/2030 */
export function formatExpiry({ exp_month: month, exp_year: year }: PaymentMethod): string {
  return `${String(month).padStart(2, '0')}/${year}`
}
