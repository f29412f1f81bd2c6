import { sql } from 'kysely'
import type { Application } from '../../application.ts'
import type { Database } from '../../database/tables.ts'
import { ApplicationError } from '../../errors.ts'
import type { ProcessorEvent } from '../../ports/payment-processor.ts'
import { followAccount } from './follow.ts'
import { findAccountByCustomer } from './store.ts'

/** Takes a webhook's event into the inbox, with a job that follows it up. One that was taken before does nothing. */
export async function receiveWebhook(
  { db, jobs, clock, payments }: Pick<Application, 'db' | 'jobs' | 'clock' | 'payments'>,
  rawBody: Buffer,
  signature: string,
): Promise<void> {
  const event = payments.readWebhook(rawBody, signature, clock())
  if (event === null) {
    throw new ApplicationError('malformed', 'invalid_signature', 'The signature is not right, or too old.')
  }
  await takeEvent({ db, jobs }, event)
}

/** True for an event that was not in the inbox yet. */
export async function takeEvent(
  { db, jobs }: Pick<Application, 'db' | 'jobs'>,
  { id, type, created, customerId }: ProcessorEvent,
): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    const taken = await transaction
      .insertInto('billing_events')
      .values({ id, type, customer_id: customerId, created_at: created })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .executeTakeFirst()
    if (taken === undefined) return false
    await jobs.enqueue(transaction, 'apply-billing-event', { eventId: id })
    return true
  })
}

/**
 * Follows up an event: not what it says but what the processor has now is written. An event that came before the processor was
 * last asked is in what it said then.
 */
export async function applyBillingEvent(
  application: Pick<Application, 'db' | 'config' | 'clock' | 'payments'>,
  eventId: string,
): Promise<void> {
  const { db } = application
  const event = await db
    .selectFrom('billing_events')
    .selectAll()
    .where('id', '=', eventId)
    .executeTakeFirstOrThrow()
  if (event.handled_at !== null) return
  const account = event.customer_id === null ? undefined : await findAccountByCustomer(db, event.customer_id)
  if (account !== undefined) await followAccount(application, account.id, event.received_at)
  await endEvent(db, eventId, account === undefined ? 'ignored' : 'applied')
}

async function endEvent(db: Database, id: string, outcome: 'applied' | 'ignored'): Promise<void> {
  await db
    .updateTable('billing_events')
    .set({ handled_at: sql`now()`, outcome })
    .where('id', '=', id)
    .where('handled_at', 'is', null)
    .execute()
}
