import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase } from '../../src/database/connect.ts'
import type { DatabaseConnection } from '../../src/database/connect.ts'
import { migrateDatabase } from '../../src/database/migrate.ts'
import { add } from '../../src/base/decimal.ts'
import { listDailyUsage, listGroupedUsage } from '../../src/features/metering/grouped-usage.ts'
import type { GroupUsage, UsageShare } from '../../src/features/metering/grouped-usage.ts'
import { settleOrganization } from '../../src/features/metering/settle.ts'
import { summarizeUsage } from '../../src/features/metering/summary.ts'
import { createTestDatabase } from '../support/database.ts'
import { addHistory, addOrganization, addOwners, history } from './usage-history.ts'
import type { UsageEvent } from './usage-history.ts'
import { priceChange } from './prices.ts'
import type { Price } from '../../src/base/price.ts'

const minute = 60_000
const day = 24 * 60 * minute

const always = new Date('2000-01-01T00:00:00Z')
const price = (meter: Price['meter'], unitAmount: string, from: Date, until: Date | null): Price => ({
  meter,
  dimensions: {},
  displayName: meter,
  unitAmount,
  currency: 'usd',
  validFrom: from,
  validUntil: until,
})
const prices = [
  price('gpu_instance_seconds', '0.000277777778', always, priceChange),
  price('gpu_instance_seconds', '0.000333333333', priceChange, null),
  price('inference_input_tokens', '0.000000150001', always, null),
  price('inference_output_tokens', '0.0000006', always, null),
]

let database: { url: string; drop(): Promise<void> }
let connection: DatabaseConnection
let owners: number[]

beforeAll(async () => {
  database = await createTestDatabase()
  connection = connectDatabase(database.url, 4, () => {})
  await migrateDatabase(connection.db)
  owners = await addOwners(connection.db, 3)
})

afterAll(async () => {
  await connection?.close()
  await database?.drop()
})

function total(rows: readonly { estimatedAmount: string }[]): string {
  return rows.reduce((sum, { estimatedAmount }) => add(sum, estimatedAmount), '0')
}

const compare = (one: string, other: string) => (one < other ? -1 : 1)

function quantities(
  rows: readonly { meter: string; dimensions: Record<string, string>; quantity: string }[],
) {
  const sums = new Map<string, string>()
  for (const { meter, dimensions, quantity } of rows) {
    const key = [meter, ...Object.values(dimensions).toSorted(compare)].join(' ')
    sums.set(key, add(sums.get(key) ?? '0', quantity))
  }
  return Object.fromEntries(sums)
}

const hour = 3_600_000

/**
 * The quantities of each person by meter as docs/decisions/0007-usage-ledger.md divides them; spans have no
 * gaps within their time.
 */
function divide(events: readonly UsageEvent[], isIncluded: (hour: number) => boolean) {
  const sums = new Map<string, number>()
  const give = (person: number, meter: string, quantity: number) => {
    const key = `${owners[person % owners.length]} ${meter}`
    if (quantity > 0) sums.set(key, (sums.get(key) ?? 0) + quantity)
  }
  const held = new Map<string, number>()
  const worked = new Map<string, number[]>()
  for (const event of events) {
    if (event.kind === 'tokens') {
      const at = Math.floor(event.at / hour)
      if (!isIncluded(at)) continue
      give(event.caller, 'inference_input_tokens', event.input)
      give(event.caller, 'inference_output_tokens', event.output)
      const key = `${event.deployment} ${at}`
      const times = worked.get(key) ?? owners.map(() => 0)
      times[event.caller % owners.length]! += event.processing
      worked.set(key, times)
    } else {
      const until = event.from + event.milliseconds
      for (let at = Math.floor(event.from / hour); at * hour < until; at += 1) {
        const part = Math.min(until, (at + 1) * hour) - Math.max(event.from, at * hour)
        const key = `${event.deployment} ${at}`
        if (isIncluded(at)) held.set(key, (held.get(key) ?? 0) + part)
      }
    }
  }
  for (const [key, milliseconds] of held) {
    const times = worked.get(key) ?? []
    const whole = BigInt(
      Math.max(
        milliseconds,
        times.reduce((sum, each) => sum + each, 0),
      ),
    )
    let [through, given] = [0n, 0n]
    for (const [caller, time] of times.entries()) {
      through += BigInt(time)
      const share = whole === 0n ? 0n : (BigInt(milliseconds) * through) / whole - given
      give(caller, 'gpu_instance_seconds', Number(share) / 1000)
      given += share
    }
    give(Number(key.split(' ', 1)[0]), 'gpu_instance_seconds', Number(BigInt(milliseconds) - given) / 1000)
  }
  return sums
}

function sumByPerson(rows: readonly GroupUsage<UsageShare>[]) {
  const sums = new Map<string, number>()
  for (const { group, meter, quantity } of rows) {
    const key = `${group.userId} ${meter}`
    sums.set(key, (sums.get(key) ?? 0) + Number(quantity))
  }
  return sums
}

const inOrder = (sums: Map<string, number>) =>
  [...sums]
    .map(([key, sum]) => [key, Math.round(sum * 1000)] as const)
    .toSorted(([one], [other]) => compare(one, other))

test('the rows of every grouping add up to the summary of the same range, to the last decimal, sealed or not', async () => {
  await fc.assert(
    fc.asyncProperty(
      history,
      fc.nat(6 * 24 * 60),
      fc.nat(5),
      fc.integer({ min: 1, max: 4 }),
      async (events, settledAfter, first, length) => {
        const { db } = connection
        const organizationId = await addOrganization(db, randomUUID())
        const begin = new Date(priceChange.getTime() - 3 * day)
        await addHistory(db, { organizationId, owners, begin }, events)
        const from = new Date(begin.getTime() + (first - 1) * day)
        const range = { from, to: new Date(from.getTime() + length * day) }
        const config = { billing: { currency: 'usd' } } as never
        const end = () => new Date(begin.getTime() + 6 * day)
        const deps = { db, prices, config, clock: end }
        const settledAt = new Date(begin.getTime() + settledAfter * minute)
        await settleOrganization({ db, prices, clock: () => settledAt }, organizationId)

        const summary = await summarizeUsage(deps, organizationId, {
          start: range.from,
          end: range.to,
          chargedSince: null,
        })
        const expected = {
          amount: total(summary.usageTotals),
          quantities: quantities(
            summary.usageTotals.map((each) => ({ ...each, quantity: each.totalQuantity })),
          ),
        }
        const check = (rows: readonly GroupUsage<unknown>[]) =>
          expect({ amount: total(rows), quantities: quantities(rows) }).toEqual(expected)

        check(await listDailyUsage(deps, organizationId, range))
        const isIncluded = (at: number) => {
          const moment = begin.getTime() + at * hour
          return moment >= range.from.getTime() && moment < range.to.getTime()
        }
        const byPerson = await listGroupedUsage(deps, organizationId, range, 'member', null)
        expect(inOrder(sumByPerson(byPerson))).toEqual(inOrder(divide(events, isIncluded)))
        for (const grouping of ['member', 'deployment', 'model'] as const) {
          check(await listGroupedUsage(deps, organizationId, range, grouping, null))
          const own = await Promise.all(
            owners.map((owner) => listGroupedUsage(deps, organizationId, range, grouping, owner)),
          )
          check(own.flat())
        }
      },
    ),
    { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 40) },
  )
}, 600_000)
