import { formatHours, formatNumber } from '../../format.ts'

/** Formats a quantity: seconds as hours, other units as whole numbers. */
export function formatQuantity(quantity: string, unit: string): string {
  return unit === 'second' ? formatHours(Number(quantity) / 3_600) : formatNumber(Number(quantity))
}
