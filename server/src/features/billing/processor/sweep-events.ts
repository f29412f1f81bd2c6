import { sql } from 'kysely'
import type { Services } from '../../../services.ts'
import { isLive } from '../account/account-state.ts'
import { storeEvent } from './events.ts'
import { syncAccount } from './sync-account.ts'
import { listPostpaidAccounts } from '../account/store.ts'
import { findSweptUntil, setSweptUntil } from './sweep-store.ts'

/** Processors list the events of the last 30 days. */
const retentionMilliseconds = 30 * 86_400_000
/** Overlap of two sweeps, because the processor may list an event late. */
const overlapMilliseconds = 3_600_000
const overdueMinutes = 10
/** Longer than the processor retries a delivery or lists an event. */
const keptDays = 90
const batchSize = 500

type Deps = Pick<Services, 'db' | 'config' | 'jobs' | 'clock' | 'payments' | 'log'>

/** Backfills events without a webhook, requeues overdue events and activations, and deletes old events. */
export async function sweepBillingEvents(deps: Deps): Promise<void> {
  await backfillMissedEvents(deps)
  await requeueOverdue(deps)
  await deps.db
    .deleteFrom('billing_events')
    .where('handled_at', '<', sql<Date>`now() - make_interval(days => ${keptDays})`)
    .execute()
}

async function backfillMissedEvents(deps: Deps): Promise<void> {
  const { db, jobs, clock, payments, log } = deps
  const startedAt = clock()
  const sweptUntil = await findSweptUntil(db, payments.account, 'events')
  if (sweptUntil === undefined) await resyncPostpaidAccounts(deps)
  const since = Math.max(
    startedAt.getTime() - retentionMilliseconds,
    (sweptUntil?.getTime() ?? 0) - overlapMilliseconds,
  )
  let missed = 0
  for await (const event of payments.listEvents(new Date(since))) {
    if (await storeEvent({ db, jobs }, event)) missed += 1
  }
  if (missed > 0) log.warn({ events: missed }, 'backfilled events whose webhook did not arrive')
  await setSweptUntil(db, payments.account, 'events', startedAt)
}

/**
 * Syncs every postpaid account on the first sweep of a processor account or installation name (derived from
 * SECRET_KEY): missing customers cause no events, and live subscriptions need the new name.
 */
async function resyncPostpaidAccounts(deps: Deps): Promise<void> {
  for (const { id } of await listPostpaidAccounts(deps.db)) {
    const account = await syncAccount(deps, id)
    const { processor_subscription_id: subscriptionId, subscription_status: status } = account
    if (subscriptionId !== null && isLive(status)) await deps.payments.claimSubscription(subscriptionId)
  }
}

async function requeueOverdue({ db, jobs, clock }: Deps): Promise<void> {
  const events = await db
    .selectFrom('billing_events')
    .select('id')
    .where('handled_at', 'is', null)
    .where('received_at', '<', sql<Date>`now() - make_interval(mins => ${overdueMinutes})`)
    .orderBy('received_at')
    .limit(batchSize)
    .execute()
  for (const { id } of events) await jobs.enqueue(db, 'apply-billing-event', { eventId: id })
  const overdue = new Date(clock().getTime() - overdueMinutes * 60_000)
  const activations = await db
    .selectFrom('billing_activations')
    .select('id')
    .where('status', '=', 'pending')
    .where('created_at', '<', overdue)
    .limit(batchSize)
    .execute()
  for (const { id } of activations) await jobs.enqueue(db, 'resume-activation', { activationId: id })
}
