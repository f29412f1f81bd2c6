import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Decimal } from 'decimal.js'
import { proofDocument, unitOf } from './document.ts'
import type { Proof, ProofHour } from './document.ts'
import { groupBy } from './group-by.ts'
import { compareInvoice, Exact } from './compare-invoice.ts'
import type { ComparedLine } from './compare-invoice.ts'

const hourMilliseconds = 3_600_000
const firstPreviousHash = '0'.repeat(64)

/** Thrown with the first difference that a check finds. */
class Difference extends Error {}

/** The result of a verification: the first difference, or the lines of the invoice, if it is one. */
export type Verdict = { difference: string } | { difference: null; proof: Proof; lines: ComparedLine[] }

/** Recomputes a parsed document by the rules of docs/proof.md, in their order. */
export function verifyProof(content: unknown): Verdict {
  const parsed = proofDocument.safeParse(content)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return { difference: `The document is not a proof: ${issue?.path.join('.')}: ${issue?.message}` }
  }
  const proof = parsed.data
  try {
    checkDocumentHash(proof)
    checkLink(proof)
    checkChain(proof.hours)
    checkHours(proof)
    checkPrices(proof)
    checkSpans(proof)
    checkTokens(proof)
    checkLines(proof)
    return { difference: null, proof, lines: compareInvoice(proof, listCharged(proof), differ) }
  } catch (error) {
    if (error instanceof Difference) return { difference: error.message }
    throw error
  }
}

function differ(message: string): never {
  throw new Difference(message)
}

function sha256(...texts: string[]): string {
  const digest = createHash('sha256')
  for (const text of texts) digest.update(text)
  return digest.digest('hex')
}

function checkDocumentHash({ document_hash: hash, ...rest }: Proof): void {
  const computed = sha256(rest.link.hash, canonicalize(rest)!)
  if (computed !== hash) differ(`document_hash is ${hash}, but the document has ${computed}.`)
}

function checkLink({
  link,
  kind,
  organization_id,
  currency,
  from,
  to,
  invoice,
  excluded,
  hours,
}: Proof): void {
  const isInvoice = kind === 'invoice'
  if (isInvoice !== (invoice !== undefined) || isInvoice !== (excluded !== undefined)) {
    differ(`A proof of ${kind} ${isInvoice ? 'needs' : 'has no'} invoice and excluded hours.`)
  }
  const { hash, previous_hash: previous, ...named } = link
  const { id, period_start, period_end } = invoice ?? {}
  const shown = {
    kind,
    organization_id,
    currency,
    from,
    to,
    invoice: isInvoice ? { id, period_start, period_end } : null,
  }
  for (const name of Object.keys(shown) as (keyof typeof shown)[]) {
    const [one, other] = [canonicalize(named[name]), canonicalize(shown[name])]
    if (one !== other) differ(`${name} is ${other}, but ${one} in the first link.`)
  }
  const expected = hours[0]?.previous_hash ?? firstPreviousHash
  if (previous !== expected) differ(`previous_hash of the first link is ${previous}, not ${expected}.`)
  const computed = sha256(previous, canonicalize(named)!)
  if (computed !== hash) differ(`hash of the first link is ${hash}, but the link has ${computed}.`)
}

function checkChain(hours: readonly ProofHour[]): void {
  for (const [index, { hash, previous_hash: previous, ...hour }] of hours.entries()) {
    const before = hours[index - 1]
    const { sequence } = hour
    if (before !== undefined && sequence !== before.sequence + 1) {
      differ(`Hour ${sequence} follows hour ${before.sequence}.`)
    }
    const expected = before?.hash ?? (sequence === 1 ? firstPreviousHash : previous)
    if (previous !== expected) differ(`previous_hash of hour ${sequence} is ${previous}, not ${expected}.`)
    const computed = sha256(previous, canonicalize(hour)!)
    if (computed !== hash) differ(`hash of hour ${sequence} is ${hash}, but the hour has ${computed}.`)
  }
}

function checkHours({ from, to, hours }: Proof): void {
  if (from > to) differ(`from (${from}) is after to (${to}).`)
  for (const [index, { sequence, hour, late_for: lateFor, quantity, meter }] of hours.entries()) {
    if (hour < from || hour >= to) differ(`Hour ${sequence} (${hour}) is not between ${from} and ${to}.`)
    const before = hours[index - 1]
    if (before !== undefined && hour < before.hour) {
      differ(`Hour ${sequence} (${hour}) is earlier than the one before (${before.hour}).`)
    }
    if (lateFor !== null && (lateFor >= hour || meter === 'gpu_instance_seconds')) {
      differ(`Hour ${sequence} can't be late for ${lateFor}.`)
    }
    if (quantity === '0') differ(`Hour ${sequence} has no usage.`)
  }
}

const toKey = (...parts: unknown[]): string => canonicalize(parts)!

/** The hour that an element belongs to. */
function ownHour({ hour, late_for: lateFor }: ProofHour): string {
  return lateFor ?? hour
}

function checkPrices({ prices, hours }: Proof): void {
  const byUsage = groupBy(prices, ({ meter, dimensions }) => toKey(meter, dimensions))
  const applied = new Set<Proof['prices'][number]>()
  for (const hour of hours) {
    const at = ownHour(hour)
    const own = byUsage.get(toKey(hour.meter, hour.dimensions)) ?? []
    const valid = own.filter(({ valid_from: from, valid_to: to }) => from <= at && (to === null || at < to))
    const [price] = valid
    if (price === undefined || valid.length > 1) {
      differ(`Hour ${hour.sequence} has ${valid.length} prices that are valid at ${at}.`)
    }
    if (price.price !== hour.price) {
      differ(`Hour ${hour.sequence} has the price ${hour.price}, but ${price.price} is valid at ${at}.`)
    }
    const amount = new Exact(hour.quantity).times(hour.price).toFixed()
    if (amount !== hour.amount) {
      differ(
        `Hour ${hour.sequence} has the amount ${hour.amount}, but ${hour.quantity} × ${hour.price} is ${amount}.`,
      )
    }
    applied.add(price)
  }
  const unused = prices.find((price) => !applied.has(price))
  if (unused) differ(`No hour has the price ${unused.price} of ${unused.meter} from ${unused.valid_from} on.`)
}

function sumBy<Item>(
  items: Iterable<Item>,
  keyOf: (item: Item) => string,
  valueOf: (item: Item) => Decimal.Value,
): Map<string, Decimal> {
  const sums = new Map<string, Decimal>()
  for (const item of items) {
    const key = keyOf(item)
    sums.set(key, (sums.get(key) ?? new Exact(0)).plus(valueOf(item)))
  }
  return sums
}

function compareSums(what: string, measured: Map<string, Decimal>, sealed: Map<string, Decimal>): void {
  for (const key of new Set([...measured.keys(), ...sealed.keys()])) {
    const [one, other] = [measured.get(key) ?? new Exact(0), sealed.get(key) ?? new Exact(0)]
    if (one.equals(other)) continue
    differ(`${what} have ${one.toFixed()} units for ${key}, but the hours have ${other.toFixed()}.`)
  }
}

/** The same instance can't run twice at the same time. */
function checkOverlaps(spans: Proof['spans']): void {
  const byInstance = groupBy(spans, ({ deployment_id: id, instance_id: instance }) => toKey(id, instance))
  for (const own of byInstance.values()) {
    const inOrder = own.toSorted((one, other) => (one.from < other.from ? -1 : 1))
    for (const [index, { instance_id: id, from }] of inOrder.entries()) {
      const before = inOrder[index - 1]
      if (before !== undefined && from < before.to)
        differ(`Two spans of the instance ${id} overlap at ${from}.`)
    }
  }
}

function checkSpans({ spans, hours, from, to }: Proof): void {
  checkOverlaps(spans)
  const parts: { key: string; milliseconds: number }[] = []
  for (const span of spans) {
    if (span.from < from || span.to > to || span.from >= span.to) {
      differ(
        `The span of ${span.deployment_id} from ${span.from} to ${span.to} is not a time of this document.`,
      )
    }
    const end = Date.parse(span.to)
    for (let at = Date.parse(span.from); at < end;) {
      const hour = at - (at % hourMilliseconds)
      const next = Math.min(hour + hourMilliseconds, end)
      const dimensions = { instance_type: span.instance_type, region: span.region }
      const key = toKey(span.deployment_id, dimensions, new Date(hour).toISOString())
      parts.push({ key, milliseconds: next - at })
      at = next
    }
  }
  compareSums(
    'The spans',
    sumBy(
      parts,
      ({ key }) => key,
      ({ milliseconds }) => new Exact(milliseconds).dividedBy(1000),
    ),
    sumBy(
      hours.filter(({ meter }) => meter === 'gpu_instance_seconds'),
      (hour) => toKey(hour.deployment_id, hour.dimensions, hour.hour),
      ({ quantity }) => quantity,
    ),
  )
}

function checkTokens({ tokens, hours }: Proof): void {
  const keys = tokens.map((each) =>
    toKey(each.deployment_id, each.meter, { model_name: each.model_name }, each.hour),
  )
  if (new Set(keys).size < keys.length) differ('Two elements of tokens are for the same hour.')
  if (tokens.some(({ quantity }) => quantity === '0')) differ('An element of tokens has no tokens.')
  compareSums(
    'The tokens',
    sumBy(
      tokens.entries(),
      ([index]) => keys[index]!,
      ([, { quantity }]) => quantity,
    ),
    sumBy(
      hours.filter(({ meter }) => meter !== 'gpu_instance_seconds'),
      (hour) => toKey(hour.deployment_id, hour.meter, hour.dimensions, ownHour(hour)),
      ({ quantity }) => quantity,
    ),
  )
}

function listCharged({ hours, excluded = [] }: Proof): ProofHour[] {
  const numbers = new Set(excluded)
  const known = new Set(hours.map(({ sequence }) => sequence))
  const unknown = excluded.find((sequence) => !known.has(sequence))
  if (unknown !== undefined) differ(`The excluded hour ${unknown} is not in the document.`)
  if (numbers.size < excluded.length) differ('An hour is excluded twice.')
  return hours.filter(({ sequence }) => !numbers.has(sequence))
}

function checkLines(proof: Proof): void {
  const charged = listCharged(proof)
  const keyOf = ({ meter, dimensions }: Pick<ProofHour, 'meter' | 'dimensions'>) => toKey(meter, dimensions)
  const quantities = sumBy(charged, keyOf, ({ quantity }) => quantity)
  const amounts = sumBy(charged, keyOf, ({ amount }) => amount)
  for (const line of proof.lines) {
    const key = keyOf(line)
    const [quantity, amount] = [quantities.get(key)?.toFixed(), amounts.get(key)?.toFixed()]
    if (line.unit !== unitOf[line.meter]) differ(`The unit of ${line.meter} is not ${line.unit}.`)
    if (line.quantity !== quantity || line.amount !== amount) {
      differ(
        `The line ${key} has ${line.quantity} units for ${line.amount}, but the hours have ${quantity} for ${amount}.`,
      )
    }
    quantities.delete(key)
  }
  const [missing] = quantities.keys()
  if (missing !== undefined) differ(`There is no line for ${missing}.`)
}
