import { sql } from 'kysely'
import type { Services } from '../../../services.ts'
import { ApplicationError } from '../../../base/errors.ts'
import type { ProcessorEvent } from '../../../ports/payment-processor.ts'
import { finishActivationCheckouts } from './activation-checkouts.ts'
import { syncAccount } from './sync-account.ts'
import { findAccountByCustomer } from '../account/store.ts'

/** Verifies a webhook and stores its event with a job that applies it. Repeated deliveries do nothing. */
export async function receiveWebhook(
  { db, jobs, clock, payments }: Pick<Services, 'db' | 'jobs' | 'clock' | 'payments'>,
  rawBody: Buffer,
  signature: string,
): Promise<void> {
  const event = payments.readWebhook(rawBody, signature, clock())
  if (event === null) {
    throw new ApplicationError('invalid_signature', 'The Stripe-Signature header is invalid or has expired.')
  }
  await storeEvent({ db, jobs }, event)
}

/** Stores an event in the inbox with a job that applies it; false when it is already there. */
export async function storeEvent(
  { db, jobs }: Pick<Services, 'db' | 'jobs'>,
  { id, type, created, customerId }: ProcessorEvent,
): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    const inserted = await transaction
      .insertInto('billing_events')
      .values({ id, type, customer_id: customerId, created_at: created })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .executeTakeFirst()
    if (inserted === undefined) return false
    await jobs.enqueue(transaction, 'apply-billing-event', { eventId: id })
    return true
  })
}

/** Syncs an event's account, unless synced since; ignores its content. A checkout may activate billing. */
export async function applyBillingEvent(
  deps: Pick<Services, 'db' | 'config' | 'clock' | 'log' | 'jobs' | 'payments'>,
  eventId: string,
): Promise<void> {
  const { db } = deps
  const event = await db
    .selectFrom('billing_events')
    .selectAll()
    .where('id', '=', eventId)
    .executeTakeFirstOrThrow()
  if (event.handled_at !== null) return
  const account = event.customer_id === null ? undefined : await findAccountByCustomer(db, event.customer_id)
  if (account !== undefined) {
    await syncAccount(deps, account.id, event.received_at)
    await finishActivationCheckouts(deps, account)
  }
  await db
    .updateTable('billing_events')
    .set({ handled_at: sql`now()`, outcome: account === undefined ? 'ignored' : 'applied' })
    .where('id', '=', eventId)
    .where('handled_at', 'is', null)
    .execute()
}
