import type { Selectable } from 'kysely'
import type { Database, Tables } from '../../database/tables.ts'

export type UsageSend = Selectable<Tables['usage_sends']>

const hourMilliseconds = 3_600_000
/** How long after a period's end usage is still told of as its own: processors finalize an invoice an hour after it. */
const lateMilliseconds = 30 * 60_000

/**
 * The moment at which the processor is to count an hour's usage: the hour's last second, which lies after a subscription that
 * began in the hour. Once the period of that is closed it is the start of the present one, so that late usage is on the next
 * invoice instead of on none.
 */
export function toCountedAt(hour: Date, periodStart: Date | null, now: Date): Date {
  const last = new Date(hour.getTime() + hourMilliseconds - 1000)
  if (periodStart === null || last >= periodStart) return last
  return now.getTime() < periodStart.getTime() + lateMilliseconds ? last : periodStart
}

/** What an attempt at sending is to be about, by its row and its age. */
export type NextAttempt = 'wait' | 'send' | 'compare'

const attemptMilliseconds = 2 * 60_000
/** Processors know an identifier again for a day at least; after that the same one might be counted twice. */
const repeatableMilliseconds = 23 * hourMilliseconds
const settledMilliseconds = 24 * hourMilliseconds

/**
 * What to do about usage whose arrival is not known: tell it again under its identifier while that is safe, then look at what the
 * processor has counted. Another process's attempt may be under way for a while.
 */
export function planAttempt(
  { first_attempt_at: first, last_attempt_at: last }: Pick<UsageSend, 'first_attempt_at' | 'last_attempt_at'>,
  now: Date,
): NextAttempt {
  if (now.getTime() - last.getTime() < attemptMilliseconds) return 'wait'
  const age = now.getTime() - first.getTime()
  if (age < repeatableMilliseconds) return 'send'
  return age < settledMilliseconds ? 'wait' : 'compare'
}

/** Which of a price's usage arrived: `counted` is all that the processor has, `sent` all that certainly arrived. */
export function settleUnknown(
  counted: number,
  sent: number,
  open: readonly number[],
): 'arrived' | 'lost' | 'unclear' {
  if (counted === sent) return 'lost'
  const all = open.reduce((sum, quantity) => sum + quantity, 0)
  return counted === sent + all ? 'arrived' : 'unclear'
}

/** Usage of which it is not known whether it arrived. */
export function listOpenSends(db: Database, organizationId: number): Promise<UsageSend[]> {
  return db
    .selectFrom('usage_sends')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('status', '!=', 'sent')
    .orderBy('hour')
    .orderBy('price_key')
    .execute()
}

/** The last hour of each price that was written down; all before it were, because they are in order. */
export async function findLastHours(db: Database, organizationId: number): Promise<Map<string, Date>> {
  const rows = await db
    .selectFrom('usage_sends')
    .select('price_key')
    .select(({ fn }) => fn.max('hour').as('hour'))
    .where('organization_id', '=', organizationId)
    .groupBy('price_key')
    .execute()
  return new Map(rows.map(({ price_key: priceKey, hour }) => [priceKey, hour]))
}

/** Units of a price that certainly arrived. */
export async function sumSent(db: Database, organizationId: number, priceKey: string): Promise<number> {
  const { sum } = await db
    .selectFrom('usage_sends')
    .select(({ fn }) => fn.sum<string | null>('quantity').as('sum'))
    .where('organization_id', '=', organizationId)
    .where('price_key', '=', priceKey)
    .where('status', '=', 'sent')
    .executeTakeFirstOrThrow()
  return Number(sum ?? 0)
}

/** Writes down that usage is about to be told; undefined when it was written before. */
export function insertSend(
  db: Database,
  send: Pick<
    UsageSend,
    'organization_id' | 'price_key' | 'hour' | 'identifier' | 'customer_id' | 'quantity' | 'at'
  >,
  now: Date,
): Promise<UsageSend | undefined> {
  return db
    .insertInto('usage_sends')
    .values({ ...send, status: 'pending', first_attempt_at: now, last_attempt_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** Takes usage for another attempt; undefined when another process did since it was read. `at`: where it is counted now. */
export function claimSend(
  db: Database,
  { identifier, last_attempt_at: last, attempts }: UsageSend,
  changes: { at: Date; now: Date; isFirst: boolean },
): Promise<UsageSend | undefined> {
  const { at, now, isFirst } = changes
  return db
    .updateTable('usage_sends')
    .set({
      at,
      last_attempt_at: now,
      attempts: attempts + 1,
      ...(isFirst ? { first_attempt_at: now } : {}),
    })
    .where('identifier', '=', identifier)
    .where('status', '!=', 'sent')
    .where('attempts', '=', attempts)
    .where('last_attempt_at', '=', last)
    .returningAll()
    .executeTakeFirst()
}

export async function markSent(db: Database, identifiers: readonly string[], now: Date): Promise<void> {
  if (identifiers.length === 0) return
  await db
    .updateTable('usage_sends')
    .set({ status: 'sent', sent_at: now, last_error: null })
    .where('identifier', 'in', identifiers)
    .where('status', '!=', 'sent')
    .execute()
}

export async function markUnknown(db: Database, identifier: string, error: string): Promise<void> {
  await db
    .updateTable('usage_sends')
    .set({ status: 'unknown', last_error: error.slice(0, 1000) })
    .where('identifier', '=', identifier)
    .where('status', '!=', 'sent')
    .execute()
}
