import type { Services } from '../../services.ts'
import { isLive } from './account-state.ts'
import { listActivationsBegunBefore } from './activation-store.ts'
import { findSweptUntil, deleteHandledEvents, listOverdueEvents, setSweptUntil } from './event-store.ts'
import { storeEvent } from './events.ts'
import { syncAccount } from './sync-account.ts'
import { listPostpaidAccounts } from './store.ts'

/** Processors keep their events for 30 days. */
const longestMemory = 30 * 86_400_000
/** Events are listed again for so long, because one may be listed later than another that is younger. */
const overlap = 3_600_000
const overdueMinutes = 10
/** Longer than the processor can deliver or list an event. */
const keptDays = 90
const atATime = 500

type Deps = Pick<Services, 'db' | 'config' | 'jobs' | 'clock' | 'payments' | 'log'>

/** Takes in events whose webhook never arrived, and enqueues again what waits for longer than its job should take. */
export async function sweepBillingEvents(application: Deps): Promise<void> {
  await backfillMissedEvents(application)
  await requeueOverdue(application)
  await deleteHandledEvents(application.db, keptDays)
}

async function backfillMissedEvents(application: Deps): Promise<void> {
  const { db, jobs, clock, payments, log } = application
  const begun = clock()
  const sweptUntil = await findSweptUntil(db, payments.account)
  if (sweptUntil === undefined) await resyncPostpaidAccounts(application)
  const since = Math.max(begun.getTime() - longestMemory, (sweptUntil?.getTime() ?? 0) - overlap)
  let missed = 0
  for await (const event of payments.listEvents(new Date(since))) {
    if (await storeEvent({ db, jobs }, event)) missed += 1
  }
  if (missed > 0) log.warn({ events: missed }, 'events whose webhook had not arrived were taken in')
  await setSweptUntil(db, payments.account, begun)
}

/**
 * Asks about everybody who pays, at another account of the processor or under another SECRET_KEY: no event tells of what is missing
 * there, and subscriptions bear the name of the installation that made them.
 */
async function resyncPostpaidAccounts(application: Deps): Promise<void> {
  for (const { id } of await listPostpaidAccounts(application.db)) {
    const account = await syncAccount(application, id)
    const { processor_subscription_id: subscriptionId, subscription_status: status } = account
    if (subscriptionId !== null && isLive(status))
      await application.payments.claimSubscription(subscriptionId)
  }
}

async function requeueOverdue({ db, jobs, clock }: Deps): Promise<void> {
  for (const eventId of await listOverdueEvents(db, overdueMinutes, atATime)) {
    await jobs.enqueue(db, 'apply-billing-event', { eventId })
  }
  const overdue = new Date(clock().getTime() - overdueMinutes * 60_000)
  for (const activationId of await listActivationsBegunBefore(db, overdue, atATime)) {
    await jobs.enqueue(db, 'resume-activation', { activationId })
  }
}
