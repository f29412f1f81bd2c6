import type { DailyUsage } from '../../contract.ts'
import { describeDimensions } from './breakdown.ts'

/** Writes daily usage as CSV (RFC 4180) with unrounded quantities and amounts. */
export function toCsv({ items, currency }: DailyUsage): string {
  const head = ['date', 'meter', 'dimensions', 'unit', 'quantity', 'estimated_amount', 'currency']
  const rows = items.map((item) => [
    item.date,
    item.meter,
    describeDimensions(item.dimensions),
    item.unit,
    item.quantity,
    item.estimated_amount,
    currency,
  ])
  return [head, ...rows].map((row) => `${row.map(quote).join(',')}\r\n`).join('')
}

/** Quotes a value and prefixes characters that a spreadsheet would read as a formula (OWASP, CSV Injection). */
function quote(value: string): string {
  const harmless = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
