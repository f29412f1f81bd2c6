// A second implementation of docs/proof.md, written from that page only: it shares no code with the product.
import { createHash } from 'node:crypto'

type Json = any

/** Decimals are integers scaled by 10^40. */
const scale = 40

function parse(text: string): bigint {
  if (!/^(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$/.test(text)) throw new Error(`${text} is not a decimal`)
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(scale, '0'))
}

/** Canonical JSON for what a proof contains: objects, arrays, strings, integers and null. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const names = Object.keys(value).toSorted((one, other) => (one < other ? -1 : 1))
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`
}

const hash = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex')

function without(object: Json, ...names: string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}

function time(text: string): number {
  const at = Date.parse(text)
  check(!Number.isNaN(at) && new Date(at).toISOString() === text)
  return at
}

function wholeHour(text: string): number {
  const at = time(text)
  check(at % 3_600_000 === 0)
  return at
}

function check(holds: boolean): void {
  if (!holds) throw new Error('a rule does not hold')
}

const units: Json = {
  gpu_instance_seconds: 'second',
  inference_input_tokens: 'token',
  inference_cached_tokens: 'token',
  inference_output_tokens: 'token',
}

class Sums {
  readonly values = new Map<string, bigint>()
  add(key: string, value: bigint): void {
    this.values.set(key, (this.values.get(key) ?? 0n) + value)
  }
  equal(other: Sums): boolean {
    return (
      this.values.size === other.values.size &&
      [...this.values].every(([key, value]) => other.values.get(key) === value)
    )
  }
}

/** Throws unless all rules of the page hold. */
export function verifyIndependently(document: Json): void {
  check(document.version === 2 && /^[a-z]{3}$/.test(document.currency))
  const [from, to] = [wholeHour(document.from), wholeHour(document.to)]
  check(from <= to)
  check(document.document_hash === hash(document.link.hash + canonical(without(document, 'document_hash'))))
  checkMembers(document)
  checkLink(document)
  checkHours(document.hours, from, to)
  checkPrices(document)
  checkMeasured(document, from, to)
  checkSums(document)
}

const wholeNumber = (value: Json) => check(Number.isSafeInteger(value) && value > 0)

function checkNames(object: Json, names: string): void {
  check(Object.keys(object).toSorted().join(' ') === names.split(' ').toSorted().join(' '))
}

function checkMembers(document: Json): void {
  const isInvoice = document.kind === 'invoice'
  check(isInvoice || document.kind === 'usage')
  const all =
    'version kind organization_id currency from to link prices spans tokens hours lines document_hash'
  checkNames(document, isInvoice ? `${all} excluded invoice` : all)
  wholeNumber(document.organization_id)
  checkNames(document.link, 'kind organization_id currency from to invoice previous_hash hash')
  const lists = {
    prices: 'meter dimensions price valid_from valid_to',
    spans: 'deployment_id instance_id instance_type region from to',
    tokens: 'deployment_id model_name hour meter quantity',
    hours: 'sequence hour deployment_id meter dimensions quantity price amount late_for previous_hash hash',
    lines: 'meter unit dimensions quantity amount',
  }
  for (const [list, names] of Object.entries(lists)) {
    for (const element of document[list]) {
      checkNames(element, names)
      if (element.meter !== undefined) check(element.meter in units)
      for (const value of Object.values(element.dimensions ?? {})) check(typeof value === 'string')
    }
  }
  if (!isInvoice) return
  checkNames(document.invoice, 'id period_start period_end lines')
  for (const line of document.invoice.lines) {
    checkNames(line, 'meter dimensions price quantity amount')
    check(line.meter in units)
  }
  for (const sequence of document.excluded) wholeNumber(sequence)
}

function checkLink({ link, kind, organization_id, currency, from, to, hours, invoice }: Json): void {
  const expected = {
    kind,
    organization_id,
    currency,
    from,
    to,
    invoice: invoice === undefined ? null : without(invoice, 'lines'),
  }
  const named = without(link, 'hash', 'previous_hash')
  check(canonical(named) === canonical(expected))
  check(link.previous_hash === (hours[0]?.previous_hash ?? '0'.repeat(64)))
  check(link.hash === hash(link.previous_hash + canonical(named)))
}

function checkHours(hours: Json[], from: number, to: number): void {
  let before: Json = null
  for (const hour of hours) {
    const previous = before?.hash ?? (hour.sequence === 1 ? '0'.repeat(64) : hour.previous_hash)
    check(before === null ? hour.sequence >= 1 : hour.sequence === before.sequence + 1)
    check(hour.previous_hash === previous)
    check(hour.hash === hash(previous + canonical(without(hour, 'hash', 'previous_hash'))))
    const at = wholeHour(hour.hour)
    check(at >= from && at < to && (before === null || at >= Date.parse(before.hour)))
    if (hour.late_for !== null) check(wholeHour(hour.late_for) < at)
    check(parse(hour.quantity) > 0n)
    before = hour
  }
}

const belongsTo = (hour: Json): string => hour.late_for ?? hour.hour

function checkPrices({ prices, hours }: Json): void {
  const used = new Set<Json>()
  for (const price of prices) {
    wholeHour(price.valid_from)
    if (price.valid_to !== null) wholeHour(price.valid_to)
  }
  for (const hour of hours) {
    const at = Date.parse(belongsTo(hour))
    const valid = prices.filter(
      (price: Json) =>
        price.meter === hour.meter &&
        canonical(price.dimensions) === canonical(hour.dimensions) &&
        Date.parse(price.valid_from) <= at &&
        (price.valid_to === null || at < Date.parse(price.valid_to)),
    )
    check(valid.length === 1 && valid[0].price === hour.price)
    check(parse(hour.quantity) * parse(hour.price) === parse(hour.amount) * 10n ** BigInt(scale))
    used.add(valid[0])
  }
  check(used.size === prices.length)
}

function checkMeasured({ spans, tokens, hours }: Json, from: number, to: number): void {
  const [seconds, billedSeconds, counted, billedTokens] = [new Sums(), new Sums(), new Sums(), new Sums()]
  for (const [index, span] of spans.entries()) {
    const [start, end] = [time(span.from), time(span.to)]
    check(start >= from && end <= to && start < end)
    for (const other of spans.slice(0, index)) {
      const isSame = other.deployment_id === span.deployment_id && other.instance_id === span.instance_id
      if (isSame) check(time(other.to) <= start || end <= time(other.from))
    }
    const dimensions = { instance_type: span.instance_type, region: span.region }
    for (let hour = Math.floor(start / 3_600_000) * 3_600_000; hour < end; hour += 3_600_000) {
      const length = Math.min(end, hour + 3_600_000) - Math.max(start, hour)
      seconds.add(
        canonical([span.deployment_id, dimensions, hour]),
        BigInt(length) * 10n ** BigInt(scale - 3),
      )
    }
  }
  for (const each of tokens) {
    const dimensions = { model_name: each.model_name }
    const key = canonical([each.deployment_id, each.meter, dimensions, wholeHour(each.hour)])
    check(!counted.values.has(key) && units[each.meter] === 'token' && parse(each.quantity) > 0n)
    counted.add(key, parse(each.quantity))
  }
  for (const hour of hours) {
    const quantity = parse(hour.quantity)
    if (hour.meter === 'gpu_instance_seconds') {
      check(hour.late_for === null)
      billedSeconds.add(canonical([hour.deployment_id, hour.dimensions, Date.parse(hour.hour)]), quantity)
    } else {
      const at = Date.parse(belongsTo(hour))
      billedTokens.add(canonical([hour.deployment_id, hour.meter, hour.dimensions, at]), quantity)
    }
  }
  check(seconds.equal(billedSeconds) && counted.equal(billedTokens))
}

function checkSums({ hours, lines, excluded = [], invoice, currency }: Json): void {
  const sequences = new Set(hours.map((hour: Json) => hour.sequence))
  check(new Set(excluded).size === excluded.length && excluded.every((each: Json) => sequences.has(each)))
  const charged = hours.filter((hour: Json) => !excluded.includes(hour.sequence))
  const [quantities, amounts, lineQuantities, lineAmounts] = [new Sums(), new Sums(), new Sums(), new Sums()]
  for (const hour of charged) {
    const key = canonical([hour.meter, hour.dimensions])
    quantities.add(key, parse(hour.quantity))
    amounts.add(key, parse(hour.amount))
  }
  for (const line of lines) {
    const key = canonical([line.meter, line.dimensions])
    check(!lineQuantities.values.has(key) && line.unit === units[line.meter])
    lineQuantities.add(key, parse(line.quantity))
    lineAmounts.add(key, parse(line.amount))
  }
  check(quantities.equal(lineQuantities) && amounts.equal(lineAmounts))
  if (invoice !== undefined) checkInvoice(charged, invoice, currency)
}

function digitsOf(currency: string): number {
  if ('bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ').includes(currency)) return 0
  return 'bhd jod kwd omr tnd'.split(' ').includes(currency) ? 3 : 2
}

function checkInvoice(charged: Json[], invoice: Json, currency: string): void {
  check(time(invoice.period_start) < time(invoice.period_end))
  check(charged.every((hour) => Date.parse(hour.hour) < Date.parse(invoice.period_end)))
  const [ours, theirs, quantities, amounts] = [new Sums(), new Sums(), new Sums(), new Sums()]
  const paid = charged.filter((hour) => hour.price !== '0')
  const toKey = ({ meter, dimensions, price }: Json) => canonical([meter, dimensions, price])
  const toPriceKey = ({ meter, dimensions, price }: Json) =>
    canonical([meter, units[meter] === 'token' ? null : dimensions, price])
  const digits = digitsOf(currency)
  const smallest = 10n ** BigInt(2 * scale - digits)
  const distance = (one: bigint, other: bigint) => (one > other ? one - other : other - one)
  for (const hour of paid) ours.add(toPriceKey(hour), parse(hour.quantity))
  for (const line of invoice.lines) {
    check(/^[1-9][0-9]*$/.test(line.quantity))
    const fits = ([name, value]: [string, Json], hour: Json) => hour.dimensions[name] === value
    check(
      paid.some(
        (hour) =>
          hour.meter === line.meter &&
          hour.price === line.price &&
          Object.entries<Json>(line.dimensions).every((each) => fits(each, hour)) &&
          (line.meter !== 'gpu_instance_seconds' ||
            canonical(hour.dimensions) === canonical(line.dimensions)),
      ),
    )
    check(new RegExp(digits === 0 ? '^[0-9]+$' : `^[0-9]+\\.[0-9]{${digits}}$`).test(line.amount))
    const rounded = BigInt(line.amount.replace('.', '')) * smallest
    const exact = parse(line.quantity) * parse(line.price)
    check(distance(rounded, exact) * 2n <= smallest)
    theirs.add(toPriceKey(line), parse(line.quantity))
    quantities.add(toKey(line), exact)
    amounts.add(toKey(line), rounded)
  }
  for (const [key, exact] of quantities.values) check(distance(exact, amounts.values.get(key)!) <= smallest)
  for (const key of new Set([...ours.values.keys(), ...theirs.values.keys()])) {
    const difference = distance(ours.values.get(key) ?? 0n, theirs.values.get(key) ?? 0n)
    check(difference < 10n ** BigInt(scale))
  }
}
