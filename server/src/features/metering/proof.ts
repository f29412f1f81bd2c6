import { createHash } from 'node:crypto'
import { ApplicationError } from '../../base/errors.ts'
import { meters } from '../../base/meters.ts'
import type { Dimensions, MeterName } from '../../base/meters.ts'
import type { Services } from '../../services.ts'
import type { Database } from '../../database/tables.ts'
import { separateValidities } from './applied-prices.ts'
import { add, formatDecimal } from '../../base/decimal.ts'
import { earliest, latest } from './hours.ts'
import {
  findPreviousHash,
  listAppliedPrices,
  listProvenSpans,
  listProvenTokens,
  readChain,
} from './proof-store.ts'
import type { ChainRow, SealedRange } from './proof-store.ts'
import { toCanonicalJson, toSealedHour } from './seal.ts'
import { findSealedThrough } from './store.ts'

/** An invoice's part of a proof: its part of the document, and the sealed hours that it does not charge. */
export interface InvoicePart {
  invoice: { id: string; period_start: Date; period_end: Date }
  /** The lines at the payment processor */
  lines: unknown
  /** Numbers of sealed hours */
  excluded: readonly number[]
}

interface Link {
  kind: 'usage' | 'invoice'
  organization_id: number
  currency: string
  from: Date
  to: Date
  invoice: InvoicePart['invoice'] | null
}

/** The first link of a document's chain, which binds the document to what it is about. */
function makeLink({ previousHash, ...named }: Link & { previousHash: string }) {
  const hash = createHash('sha256').update(previousHash).update(toJson(named)).digest('hex')
  return { ...named, previous_hash: previousHash, hash }
}

/**
 * Writes the proof of usage in [from, to), one JSON document (docs/proof.md), to the last sealed hour. Throws
 * `mixed_currencies` if the currency changed in the range.
 */
export async function openProof(
  { db, config }: Pick<Services, 'db' | 'config'>,
  organizationId: number,
  requested: SealedRange,
  part: InvoicePart | null = null,
): Promise<AsyncIterable<string>> {
  const sealedThrough = (await findSealedThrough(db, organizationId)) ?? requested.from
  const range = {
    from: requested.from,
    to: latest(requested.from, earliest(requested.to, sealedThrough)),
  }
  const applied = await listAppliedPrices(db, organizationId, range)
  const currencies = [...new Set(applied.map(({ currency }) => currency))]
  if (currencies.length > 1) {
    const message = `The range has usage in ${currencies.join(' and ')}. Request a range with one currency.`
    throw new ApplicationError('mixed_currencies', message)
  }
  const prices = [...Map.groupBy(applied, ({ meter, dimensions }) => toCanonicalJson([meter, dimensions]))]
    .flatMap(([, own]) => separateValidities(own))
    .map(({ meter, dimensions, price, from, until }) => ({
      meter,
      dimensions,
      price: formatDecimal(price),
      valid_from: from,
      valid_to: until,
    }))
  const currency = currencies[0] ?? config.billing.currency
  return writeDocument(db, organizationId, range, { currency, prices }, part)
}

/** Writes members in the order of canonical JSON, so that the document's hash grows with it. */
async function* writeDocument(
  db: Database,
  organizationId: number,
  range: SealedRange,
  { currency, prices }: { currency: string; prices: unknown },
  part: InvoicePart | null,
): AsyncGenerator<string, void> {
  const link = makeLink({
    kind: part === null ? 'usage' : 'invoice',
    organization_id: organizationId,
    currency,
    ...range,
    invoice: part === null ? null : part.invoice,
    previousHash: await findPreviousHash(db, organizationId, range),
  })
  const digest = createHash('sha256').update(link.hash)
  const write = (text: string): string => {
    digest.update(text)
    return text
  }
  const member = (name: string, value: unknown) => write(`,"${name}":${toJson(value)}`)
  const excluded = new Set(part?.excluded)
  const lines = new Map<string, ProofLine>()

  yield write(`{"currency":${toJson(currency)}`)
  if (part !== null) yield member('excluded', part.excluded)
  yield member('from', range.from)
  yield write(',"hours":[')
  let separator = ''
  for await (const rows of readChain(db, organizationId, range)) {
    const texts = rows.map((row) => {
      if (!excluded.has(row.sequence)) addToLines(lines, row)
      return toCanonicalJson({
        ...toSealedHour(row, row.sequence),
        previous_hash: row.previous_hash,
        hash: row.hash,
      })
    })
    yield write(separator + texts.join(','))
    separator = ','
  }
  yield write(']')
  if (part !== null) yield member('invoice', { ...part.invoice, lines: part.lines })
  yield member('kind', link.kind)
  yield member(
    'lines',
    [...lines.keys()].toSorted().map((key) => lines.get(key)),
  )
  yield member('link', link)
  yield member('organization_id', organizationId)
  yield member('prices', prices)
  yield member('spans', await listProvenSpans(db, organizationId, range))
  yield member('to', range.to)
  yield member('tokens', await listProvenTokens(db, organizationId, range))
  yield member('version', 2)
  digest.update('}')
  yield `,"document_hash":"${digest.digest('hex')}"}\n`
}

interface ProofLine {
  meter: MeterName
  unit: string
  dimensions: Dimensions
  quantity: string
  amount: string
}

function addToLines(lines: Map<string, ProofLine>, row: ChainRow): void {
  const { meter, dimensions, quantity, amount } = toSealedHour(row, row.sequence)
  const key = toCanonicalJson([meter, dimensions])
  const line = lines.get(key)
  lines.set(key, {
    meter,
    unit: meters[meter].unit,
    dimensions,
    quantity: add(line?.quantity ?? '0', quantity),
    amount: add(line?.amount ?? '0', amount),
  })
}

/** Canonical JSON with times as in the API. */
function toJson(value: unknown): string {
  return toCanonicalJson(JSON.parse(JSON.stringify(value)))
}

/** The smallest whole hours that contain [from, to). */
export function toWholeHours({ from, to }: SealedRange): SealedRange {
  const hour = 3_600_000
  return {
    from: new Date(Math.floor(from.getTime() / hour) * hour),
    to: new Date(Math.ceil(to.getTime() / hour) * hour),
  }
}
