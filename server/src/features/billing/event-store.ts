import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { ProcessorEvent } from '../../ports/payment-processor.ts'
import type { BillingEventsTable } from './tables.ts'

export type BillingEvent = Selectable<BillingEventsTable>

/** Inserts an event into the inbox; false when it is already there. */
export async function insertEvent(
  db: Database,
  { id, type, created, customerId }: ProcessorEvent,
): Promise<boolean> {
  const inserted = await db
    .insertInto('billing_events')
    .values({ id, type, customer_id: customerId, created_at: created })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst()
  return inserted !== undefined
}

export function getEvent(db: Database, id: string): Promise<BillingEvent> {
  return db.selectFrom('billing_events').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

export async function finishEvent(db: Database, id: string, outcome: 'applied' | 'ignored'): Promise<void> {
  await db
    .updateTable('billing_events')
    .set({ handled_at: sql`now()`, outcome })
    .where('id', '=', id)
    .where('handled_at', 'is', null)
    .execute()
}

/** The ids of events that are still unhandled `minutes` after they arrived, oldest first, at most `limit`. */
export async function listOverdueEvents(db: Database, minutes: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('billing_events')
    .select('id')
    .where('handled_at', 'is', null)
    .where('received_at', '<', sql<Date>`now() - make_interval(mins => ${minutes})`)
    .orderBy('received_at')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** Deletes events that were handled more than `days` ago. */
export async function deleteHandledEvents(db: Database, days: number): Promise<void> {
  await db
    .deleteFrom('billing_events')
    .where('handled_at', '<', sql<Date>`now() - make_interval(days => ${days})`)
    .execute()
}

/** The time up to which a processor account was searched for missed events; undefined before the first sweep. */
export async function findSweptUntil(db: Database, account: string): Promise<Date | undefined> {
  const swept = await db
    .selectFrom('billing_event_sweeps')
    .select('swept_until')
    .where('processor', '=', account)
    .executeTakeFirst()
  return swept?.swept_until
}

/** Stores the time of the last sweep and deletes those of other processor accounts: a return to one of them needs a full sync. */
export async function setSweptUntil(db: Database, account: string, until: Date): Promise<void> {
  await db
    .insertInto('billing_event_sweeps')
    .values({ processor: account, swept_until: until })
    .onConflict((conflict) => conflict.column('processor').doUpdateSet({ swept_until: until }))
    .execute()
  await db.deleteFrom('billing_event_sweeps').where('processor', '!=', account).execute()
}
