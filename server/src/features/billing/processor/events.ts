import type { Services } from '../../../services.ts'
import { ApplicationError } from '../../../base/errors.ts'
import type { ProcessorEvent } from '../../../ports/payment-processor.ts'
import { finishActivationCheckouts } from './activation-checkouts.ts'
import { finishEvent, insertEvent } from './event-store.ts'
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
  event: ProcessorEvent,
): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    if (!(await insertEvent(transaction, event))) return false
    await jobs.enqueue(transaction, 'apply-billing-event', { eventId: event.id })
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
  await finishEvent(db, eventId, account === undefined ? 'ignored' : 'applied')
}
