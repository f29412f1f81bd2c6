import canonicalize from 'canonicalize'
import { Decimal } from 'decimal.js'
import type { InvoiceLine, Proof, ProofHour } from './document.ts'
import { groupBy } from './group-by.ts'

/** Enough digits for the exact product of any price and quantity. */
export const Exact = Decimal.clone({ precision: 200 })

/** A price on an invoice: the exact usage, and what the payment processor made of it. Decimal strings. */
export interface ComparedLine {
  name: string
  price: string
  quantity: string
  amount: string
  processorQuantity: string
  processorAmount: string
  /** The processor's amount less the exact one */
  difference: string
}

/** Compares the charged hours with the processor's lines. `differ` throws for more than rounding. */
export function compareInvoice(
  { invoice }: Proof,
  charged: readonly ProofHour[],
  differ: (message: string) => never,
): ComparedLine[] {
  if (invoice === undefined) return []
  const keyOf = ({ meter, dimensions, price }: Pick<InvoiceLine, 'meter' | 'dimensions' | 'price'>) =>
    canonicalize([meter, dimensions, price])!
  const paid = charged.filter(({ price }) => price !== '0')
  const ours = groupBy<Pick<InvoiceLine, 'meter' | 'dimensions' | 'price' | 'quantity' | 'amount'>>(
    paid,
    keyOf,
  )
  for (const line of invoice.lines) checkRounding(line, differ)
  const theirs = groupBy(invoice.lines, keyOf)
  return [...new Set([...ours.keys(), ...theirs.keys()])].map((key) => {
    const [own = [], their = []] = [ours.get(key), theirs.get(key)]
    const { meter, dimensions, price } = (own[0] ?? their[0])!
    const name = [meter, ...Object.values(dimensions)].join(' ')
    const [quantity, amount] = [sum(own, 'quantity'), sum(own, 'amount')]
    const [processorQuantity, processorAmount] = [sum(their, 'quantity'), sum(their, 'amount')]
    if (quantity.minus(processorQuantity).abs().gte(1)) {
      differ(
        `The invoice has ${processorQuantity.toFixed()} units of ${name} at ${price}, but the hours have ${quantity.toFixed()}.`,
      )
    }
    return {
      name,
      price,
      quantity: quantity.toFixed(),
      amount: amount.toFixed(),
      processorQuantity: processorQuantity.toFixed(),
      processorAmount: processorAmount.toFixed(),
      difference: processorAmount.minus(amount).toFixed(),
    }
  })
}

function sum(lines: readonly { quantity: string; amount: string }[], member: 'quantity' | 'amount'): Decimal {
  return lines.reduce((total, line) => total.plus(line[member]), new Exact(0))
}

/** The processor rounds the amount of a line to the decimals of the currency. */
function checkRounding(
  { meter, quantity, price, amount }: InvoiceLine,
  differ: (message: string) => never,
): void {
  const exact = new Exact(quantity).times(price)
  const decimals = amount.split('.')[1]?.length ?? 0
  const half = new Exact(10).pow(-decimals).dividedBy(2)
  if (exact.minus(amount).abs().gt(half)) {
    differ(`The invoice has ${amount} for ${meter}, but ${quantity} × ${price} is ${exact.toFixed()}.`)
  }
}
