import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { Database } from '../../../database/tables.ts'
import type { ProcessorEvent } from '../../../ports/payment-processor.ts'
import type { BillingEventsTable } from '../account/tables.ts'

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
