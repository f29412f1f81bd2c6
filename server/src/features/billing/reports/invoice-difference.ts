import type { InvoicedUsage } from '../../../ports/payment-processor.ts'
import { Exact, add, formatDecimal, multiply, subtract } from '../../../base/decimal.ts'

type InvoiceLine = InvoicedUsage['lines'][number]
export type BilledUsage = Omit<InvoiceLine, 'amount'>

/** One sentence on all prices that differ, or null. Processors count whole units, so a fraction is equal. */
export function describeDifference(
  used: readonly BilledUsage[],
  { invoiceId, isFinal, periodStart, periodEnd, lines }: InvoicedUsage,
): string | null {
  const theirs = Map.groupBy(lines, toPrice)
  const ours = Map.groupBy(used, toPrice)
  const parts = [...new Set([...ours.keys(), ...theirs.keys()])].toSorted().flatMap((price) => {
    const invoiced = theirs.get(price) ?? []
    const quantities = { used: sumQuantities(ours.get(price) ?? []), invoiced: sumQuantities(invoiced) }
    if (Math.abs(Number(subtract(quantities.used, quantities.invoiced))) >= 1) {
      return `${quantities.used} units of ${price} were used, but ${quantities.invoiced} are invoiced`
    }
    return describeAmount(price, invoiced, quantities.invoiced, isFinal)
  })
  if (parts.length === 0) return null
  const period = `${periodStart.toISOString()} to ${periodEnd.toISOString()}`
  return `Invoice ${invoiceId} of ${period} differs from the ledger: ${parts.join('; ')}.`
}

/** Compares amounts with quantity × price. A line may be off by half the smallest unit, a draft's by one. */
function describeAmount(
  price: string,
  lines: readonly InvoiceLine[],
  quantity: string,
  isFinal: boolean,
): string[] {
  const [line] = lines
  if (line === undefined) return []
  const expected = multiply(quantity, line.unitAmount)
  const amount = lines.reduce((sum, { amount: each }) => add(sum, each), '0')
  const decimals = line.amount.split('.')[1]?.length ?? 0
  const tolerance = new Exact(10)
    .pow(-decimals)
    .times(lines.length)
    .times(isFinal ? 0.5 : 1)
  if (new Exact(subtract(expected, amount)).abs().lte(tolerance)) return []
  return [
    `${quantity} units of ${price} cost ${expected}, but ${formatDecimal(amount)} is ${isFinal ? 'invoiced' : 'on the draft'}`,
  ]
}

function toPrice({ priceKey, unitAmount }: BilledUsage): string {
  return `${priceKey} at ${unitAmount}`
}

function sumQuantities(usage: readonly BilledUsage[]): string {
  return formatDecimal(usage.reduce((sum, { quantity }) => add(sum, quantity), '0'))
}
