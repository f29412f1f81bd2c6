import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { Database, Tables } from '../../database/tables.ts'
import type { UsagePosition } from '../metering/usage-events.ts'

export type UsageSend = Selectable<Tables['usage_sends']>

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

/** The last hour since `from` of each price that was written down; all before it were, because they are in order. */
export async function findLastHours(
  db: Database,
  organizationId: number,
  from: Date,
): Promise<Map<string, Date>> {
  const rows = await db
    .selectFrom('usage_sends')
    .select('price_key')
    .select(({ fn }) => fn.max('hour').as('hour'))
    .where('organization_id', '=', organizationId)
    .where('hour', '>=', from)
    .groupBy('price_key')
    .execute()
  return new Map(rows.map(({ price_key: priceKey, hour }) => [priceKey, hour]))
}

/** What is known of a price's usage by a customer: units that certainly arrived, and when any of it was last told of (null: never). */
export async function readTold(
  db: Database,
  { organization_id: organizationId, price_key: priceKey, customer_id: customerId }: UsageSend,
): Promise<{ sent: number; lastToldAt: Date | null }> {
  const { sent, last_told_at: lastToldAt } = await db
    .selectFrom('usage_sends')
    .select(sql<string>`coalesce(sum(quantity) FILTER (WHERE status = 'sent'), 0)`.as('sent'))
    .select(sql<Date | null>`max(greatest(last_attempt_at, sent_at))`.as('last_told_at'))
    .where('organization_id', '=', organizationId)
    .where('price_key', '=', priceKey)
    .where('customer_id', '=', customerId)
    .executeTakeFirstOrThrow()
  return { sent: Number(sent), lastToldAt }
}

/**
 * Writes down that usage is about to be told, or why it is not told yet and since when it might have been; undefined when it was
 * written before.
 */
export function insertSend(
  db: Database,
  send: Pick<
    UsageSend,
    'organization_id' | 'price_key' | 'hour' | 'identifier' | 'customer_id' | 'quantity' | 'at'
  >,
  now: Date,
  untold: { since: Date; reason: string } | null,
): Promise<UsageSend | undefined> {
  const at = untold?.since ?? now
  const state =
    untold === null
      ? ({ status: 'pending' } as const)
      : ({ status: 'unknown', attempts: 0, last_error: untold.reason } as const)
  return db
    .insertInto('usage_sends')
    .values({ ...send, ...state, first_attempt_at: at, last_attempt_at: at })
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

/** Notes that all usage before a position was written down. */
export async function setWritten(
  db: Database,
  organizationId: number,
  { from, remainders }: UsagePosition,
): Promise<void> {
  await db
    .updateTable('billing_accounts')
    .set({ usage_written_through: from, usage_remainders: JSON.stringify(remainders) })
    .where('organization_id', '=', organizationId)
    .where((where) =>
      where.or([where('usage_written_through', 'is', null), where('usage_written_through', '<', from)]),
    )
    .execute()
}
