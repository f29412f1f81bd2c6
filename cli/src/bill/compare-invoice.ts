import canonicalize from 'canonicalize'
import { Decimal } from 'decimal.js'
import { currencyDigits } from './currency-digits.ts'
import { unitOf } from './document.ts'
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

type Differ = (message: string) => never

/** Compares the charged hours with the processor's lines. `differ` throws for more than rounding. */
export function compareInvoice(
  { invoice, currency }: Proof,
  charged: readonly ProofHour[],
  differ: Differ,
): ComparedLine[] {
  if (invoice === undefined) return []
  checkPeriod(invoice, charged, differ)
  const paid = charged.filter(({ price }) => price !== '0')
  const smallest = new Exact(10).pow(-currencyDigits(currency))
  for (const line of invoice.lines) {
    checkLine(line, paid, differ)
    checkAmount(line, currencyDigits(currency), differ)
  }
  for (const same of groupBy(invoice.lines, toPriceKey).values()) checkRounding(same, smallest, differ)
  const ours = groupBy<Counted>(paid, toComparedKey)
  const theirs = groupBy<Counted>(invoice.lines, toComparedKey)
  return [...new Set([...ours.keys(), ...theirs.keys()])].map((key) => {
    const [own = [], their = []] = [ours.get(key), theirs.get(key)]
    const [first] = [...their, ...own]
    const { meter, dimensions, price } = first!
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

type Priced = Pick<InvoiceLine, 'meter' | 'dimensions' | 'price'>
type Counted = Pick<InvoiceLine, 'meter' | 'dimensions' | 'price' | 'quantity' | 'amount'>

const toPriceKey = ({ meter, dimensions, price }: Priced): string => canonicalize([meter, dimensions, price])!

/** A line of tokens may be for several models. */
const toComparedKey = ({ meter, dimensions, price }: Priced): string =>
  canonicalize([meter, unitOf[meter] === 'token' ? {} : dimensions, price])!

function checkPeriod(
  { period_start: start, period_end: end }: NonNullable<Proof['invoice']>,
  charged: readonly ProofHour[],
  differ: Differ,
): void {
  if (start >= end) differ(`The period of the invoice ends at ${end}, before its start at ${start}.`)
  const after = charged.find(({ hour }) => hour >= end)
  if (after) differ(`Hour ${after.sequence} (${after.hour}) is after the period of the invoice.`)
}

function checkLine(line: InvoiceLine, paid: readonly ProofHour[], differ: Differ): void {
  const { meter, dimensions, price, quantity } = line
  const name = [meter, ...Object.values(dimensions)].join(' ')
  if (!/^[1-9]\d*$/.test(quantity))
    differ(`The invoice has ${quantity} units of ${name}, which aren't whole.`)
  const isUsed = paid.some(
    (hour) =>
      hour.meter === meter &&
      hour.price === price &&
      Object.entries(dimensions).every(([key, value]) => hour.dimensions[key] === value) &&
      (unitOf[meter] === 'token' || Object.keys(dimensions).length === Object.keys(hour.dimensions).length),
  )
  if (!isUsed) differ(`The invoice has ${quantity} units of ${name} at ${price}, but no hour has any.`)
}

function checkAmount({ meter, amount }: InvoiceLine, digits: number, differ: Differ): void {
  const decimals = amount.split('.')[1]?.length ?? 0
  if (decimals !== digits)
    differ(`The amount ${amount} for ${meter} has ${decimals} decimals, not ${digits}.`)
}

function sum(lines: readonly { quantity: string; amount: string }[], member: 'quantity' | 'amount'): Decimal {
  return lines.reduce((total, line) => total.plus(line[member]), new Exact(0))
}

/** The processor rounds each line to the smallest unit. Several lines of a price may not add that up. */
function checkRounding(lines: readonly InvoiceLine[], smallest: Decimal, differ: Differ): void {
  for (const line of lines) checkWithin([line], smallest.dividedBy(2), differ)
  checkWithin(lines, smallest, differ)
}

function checkWithin(lines: readonly InvoiceLine[], most: Decimal, differ: Differ): void {
  const [quantity, amount] = [sum(lines, 'quantity'), sum(lines, 'amount')]
  const { meter, price } = lines[0]!
  const exact = quantity.times(price)
  if (exact.minus(amount).abs().lte(most)) return
  differ(
    `The invoice has ${amount.toFixed()} for ${meter}, but ${quantity.toFixed()} × ${price} is ${exact.toFixed()}.`,
  )
}
