import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { ProcessorEvent } from '../../ports/payment-processor.ts'
import type { BillingEventsTable } from './tables.ts'

export type BillingEvent = Selectable<BillingEventsTable>

/** False when the event was in the inbox before. */
export async function insertEvent(
  db: Database,
  { id, type, created, customerId }: ProcessorEvent,
): Promise<boolean> {
  const taken = await db
    .insertInto('billing_events')
    .values({ id, type, customer_id: customerId, created_at: created })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst()
  return taken !== undefined
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

/** The ids of events that nobody followed up in `minutes` since they came, the oldest first, at most `limit`. */
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

/** Deletes events that were followed up more than `days` ago. */
export async function deleteHandledEvents(db: Database, days: number): Promise<void> {
  await db
    .deleteFrom('billing_events')
    .where('handled_at', '<', sql<Date>`now() - make_interval(days => ${days})`)
    .execute()
}

/** Up to when all events of an account of a processor were looked for; undefined before the first time. */
export async function findSweptUntil(db: Database, account: string): Promise<Date | undefined> {
  const swept = await db
    .selectFrom('billing_event_sweeps')
    .select('swept_until')
    .where('processor', '=', account)
    .executeTakeFirst()
  return swept?.swept_until
}

/** Notes it, and forgets other accounts: where one of them comes back, what became of it meanwhile has to be asked. */
export async function setSweptUntil(db: Database, account: string, until: Date): Promise<void> {
  await db
    .insertInto('billing_event_sweeps')
    .values({ processor: account, swept_until: until })
    .onConflict((conflict) => conflict.column('processor').doUpdateSet({ swept_until: until }))
    .execute()
  await db.deleteFrom('billing_event_sweeps').where('processor', '!=', account).execute()
}
