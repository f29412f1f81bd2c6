import { randomInt, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { verifyProof } from '../../../cli/src/bill/verify.ts'
import type { Price } from '../../src/base/price.ts'
import { connectDatabase } from '../../src/database/connect.ts'
import type { DatabaseConnection } from '../../src/database/connect.ts'
import { migrateDatabase } from '../../src/database/migrate.ts'
import { addHours } from '../../src/features/metering/hours.ts'
import { openProof } from '../../src/features/metering/proof.ts'
import { recordTokens } from '../../src/features/metering/record-tokens.ts'
import { settleOrganization } from '../../src/features/metering/settle.ts'
import { summarizeUsage } from '../../src/features/metering/summary.ts'
import { createTestDatabase } from '../support/database.ts'
import { verifyIndependently } from './independent-verifier.ts'
import { priceChange } from './prices.ts'
import { changeValue, decidesAboutBill, forge, listValues } from './proof-changes.ts'
import { addHistory, addOrganization, addOwners, history } from './usage-history.ts'
import type { UsageEvent } from './usage-history.ts'

/** `npm run test:proof` plays 1,000 months, from a random seed unless PROOF_SEED names one. */
const rounds = Number(process.env['PROOF_ROUNDS'] ?? 12)
const firstSeed = Number(process.env['PROOF_SEED'] ?? (rounds > 12 ? randomInt(2 ** 31 - rounds) : 1))
const changesPerRound = 34

let database: { url: string; drop(): Promise<void> }
let connection: DatabaseConnection
let owners: number[]

beforeAll(async () => {
  database = await createTestDatabase()
  connection = connectDatabase(database.url, 4, () => {})
  await migrateDatabase(connection.db)
  owners = await addOwners(connection.db, 2)
})

afterAll(async () => {
  await connection?.close()
  await database?.drop()
})

const hour = 3_600_000
const begin = addHours(priceChange, -60)
const end = addHours(begin, 8 * 24)

const prices: Price[] = (['gpu_instance_seconds', 'inference_input_tokens'] as const).flatMap((meter) =>
  [
    { unitAmount: '0.000277777778', validFrom: new Date(0), validUntil: priceChange },
    { unitAmount: '0.000333333333', validFrom: priceChange, validUntil: null },
  ].map((version) => ({ meter, dimensions: {}, displayName: meter, currency: 'usd', ...version })),
)
prices.push({ ...prices[3]!, meter: 'inference_output_tokens', unitAmount: '0', validFrom: new Date(0) })
prices.push({ ...prices[2]!, meter: 'inference_cached_tokens', unitAmount: '0.0001', validUntil: null })

interface Month {
  organizationId: number
  document: any
}

const month = fc.record({
  events: history,
  /** How late each count arrives, and how often the ledger is settled, in hours */
  delays: fc.array(fc.nat(10), { minLength: 1, maxLength: 10 }),
  every: fc.integer({ min: 5, max: 40 }),
  first: fc.nat(4 * 24),
  length: fc.nat(8 * 24),
})

/** Plays a month: counts of tokens arrive late, after the ledger was settled, also by two workers at once. */
async function playMonth({
  events,
  delays,
  every,
  first,
  length,
}: {
  events: UsageEvent[]
  delays: number[]
  every: number
  first: number
  length: number
}): Promise<Month> {
  const { db } = connection
  const organizationId = await addOrganization(db, randomUUID())
  const spans = events.filter(({ kind }) => kind === 'span')
  const ids = await addHistory(db, { organizationId, owners, begin }, spans)
  const counts = events
    .flatMap((event, index) => {
      if (event.kind !== 'tokens') return []
      const at = begin.getTime() + event.at
      return [{ ...event, used: at, arrives: at + delays[index % delays.length]! * hour }]
    })
    .toSorted((one, other) => one.arrives - other.arrives)
  const settle = (at: number) => settleOrganization({ db, prices, clock: () => new Date(at) }, organizationId)
  for (let at = begin.getTime(); at <= end.getTime(); at += every * hour) {
    for (let [count] = counts; count !== undefined && count.arrives <= at; [count] = counts) {
      counts.shift()
      const usage = {
        inputTokens: count.input,
        outputTokens: count.output,
        cachedTokens: Math.floor(count.input / 3),
        requests: 1,
      }
      const serving = {
        deploymentId: ids[count.deployment]!,
        organizationId,
        modelName: `model-${count.deployment % 2}`,
      }
      const caller = {
        userId: owners[count.caller % owners.length]!,
        processingMilliseconds: count.processing,
      }
      await recordTokens(db, [{ ...serving, ...usage, ...caller, at: new Date(count.used) }])
    }
    await Promise.all([settle(at), settle(at)])
  }
  const range = { from: addHours(begin, first), to: addHours(begin, first + length) }
  const config = { billing: { currency: 'usd' } } as never
  let text = ''
  for await (const part of await openProof({ db, config }, organizationId, range)) text += part
  const document = JSON.parse(text)
  await checkLines(organizationId, document)
  return { organizationId, document }
}

/** The lines are the usage summary of the same hours. */
async function checkLines(organizationId: number, { from, to, lines }: any): Promise<void> {
  const config = { billing: { currency: 'usd' } } as never
  const deps = { db: connection.db, prices, config, clock: () => end }
  const period = { start: new Date(from), end: new Date(to), chargedSince: null }
  const { usageTotals } = await summarizeUsage(deps, organizationId, period)
  const sums = Map.groupBy(usageTotals, ({ meter, dimensions }) =>
    [meter, ...Object.values(dimensions).toSorted((one, other) => (one < other ? -1 : 1))].join(' '),
  )
  expect(lines).toHaveLength(sums.size)
}

const isRightBySecond = (document: unknown): boolean => {
  try {
    verifyIndependently(document)
    return true
  } catch {
    return false
  }
}

test('random months: both programs agree with every line, and each changed value is found', async () => {
  let late = 0
  const check = fc.asyncProperty(month, fc.infiniteStream(fc.nat()), async (story, picks) => {
    const { document } = await playMonth(story)
    late += document.hours.filter((each: any) => each.late_for !== null).length
    expect(verifyProof(document)).toMatchObject({ difference: null })
    verifyIndependently(document)
    for (let count = 0; count < changesPerRound; count++) checkChange(document, picks.next().value)
  })
  // Shrinking would take hours. Instead, each month has a seed, and the error names it: PROOF_SEED and
  // PROOF_ROUNDS=1 repeat that month.
  for (let round = 0; round < rounds; round++) {
    await fc.assert(check, { seed: firstSeed + round, numRuns: 1, endOnFailure: true })
  }
  if (rounds > 1) expect(late).toBeGreaterThan(0)
}, 3_600_000)

/**
 * Changes one value: both programs find it, also after all hashes were computed again if the value decides
 * about the bill.
 */
function checkChange(document: object, pick: number): void {
  const paths = listValues(document)
  const path = paths[pick % paths.length]!
  const changed = changeValue(document, path)
  expect(verifyProof(changed).difference, path.join('.')).not.toBeNull()
  expect(isRightBySecond(changed), path.join('.')).toBe(false)
  const forged = forge(changed)
  const isFound = verifyProof(forged).difference !== null
  expect(isRightBySecond(forged), path.join('.')).toBe(!isFound)
  if (decidesAboutBill(path)) expect(isFound, path.join('.')).toBe(true)
}

test('a range without a sealed hour has no spans, although an instance runs', async () => {
  const events: UsageEvent[] = [{ kind: 'span', deployment: 0, from: 0, milliseconds: 600 * hour }]
  for (const range of [
    { first: 1, length: 0 },
    { first: 500, length: 10 },
  ]) {
    const { document } = await playMonth({ events, delays: [0], every: 5, ...range })
    expect(document).toMatchObject({ hours: [], lines: [], spans: [], tokens: [] })
    expect(verifyProof(document)).toMatchObject({ difference: null })
    verifyIndependently(document)
  }
})

test('a range with two currencies is refused: mixed_currencies', async () => {
  const { db } = connection
  const organizationId = await addOrganization(db, randomUUID())
  const span = { kind: 'span', deployment: 0, from: 0, milliseconds: 100 * hour } as const
  await addHistory(db, { organizationId, owners, begin }, [span])
  const changing = prices.map((price) => (price.validUntil === null ? { ...price, currency: 'eur' } : price))
  await settleOrganization({ db, prices: changing, clock: () => end }, organizationId)
  const deps = { db, config: { billing: { currency: 'usd' } } as never }
  await expect(openProof(deps, organizationId, { from: begin, to: end })).rejects.toMatchObject({
    code: 'mixed_currencies',
  })
  await expect(openProof(deps, organizationId, { from: begin, to: priceChange })).resolves.toBeDefined()
})

test('the chain has no gap and no double, and a sealed hour can’t be changed', async () => {
  const events: UsageEvent[] = [{ kind: 'span', deployment: 0, from: 0, milliseconds: 20 * hour + 5 }]
  const { organizationId, document } = await playMonth({
    events,
    delays: [0],
    every: 3,
    first: 0,
    length: 150,
  })
  const { db } = connection
  expect(document.hours.map(({ sequence }: any) => sequence)).toEqual(
    Array.from({ length: 21 }, (_, index) => index + 1),
  )
  const own = db.updateTable('usage_buckets').where('organization_id', '=', organizationId)
  await expect(own.set({ hash: 'f'.repeat(64) }).execute()).rejects.toThrow('is sealed')
  const joined: any[] = []
  for (const [first, length] of [
    [0, 7],
    [7, 100],
  ] as const) {
    const range = { from: addHours(begin, first), to: addHours(begin, first + length) }
    let text = ''
    const config = { billing: { currency: 'usd' } } as never
    for await (const part of await openProof({ db, config }, organizationId, range)) text += part
    const part = JSON.parse(text)
    expect(verifyProof(part)).toMatchObject({ difference: null })
    joined.push(...part.hours)
  }
  expect(joined).toEqual(document.hours)
})
