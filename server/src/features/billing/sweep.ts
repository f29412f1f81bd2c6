import { sql } from 'kysely'
import type { Application } from '../../application.ts'
import { takeEvent } from './events.ts'

/** Processors keep their events for 30 days. */
const longestMemory = 30 * 86_400_000
/** Events are listed again for so long, because one may be listed later than another that is younger. */
const overlap = 3_600_000
const overdueMinutes = 10
/** Longer than the processor can deliver or list an event. */
const keptDays = 90
const atATime = 500

type Tools = Pick<Application, 'db' | 'jobs' | 'clock' | 'payments' | 'log'>

/** Takes in events whose webhook never arrived, and enqueues again what waits for longer than its job should take. */
export async function sweepBillingEvents(application: Tools): Promise<void> {
  await takeMissedEvents(application)
  await renewWaiting(application)
  await application.db
    .deleteFrom('billing_events')
    .where('handled_at', '<', sql<Date>`now() - make_interval(days => ${keptDays})`)
    .execute()
}

async function takeMissedEvents({ db, jobs, clock, payments, log }: Tools): Promise<void> {
  const begun = clock()
  const swept = await db
    .selectFrom('billing_event_sweeps')
    .select('swept_until')
    .where('processor', '=', payments.name)
    .executeTakeFirst()
  const since = Math.max(begun.getTime() - longestMemory, (swept?.swept_until.getTime() ?? 0) - overlap)
  let missed = 0
  for await (const event of payments.listEvents(new Date(since))) {
    if (await takeEvent({ db, jobs }, event)) missed += 1
  }
  if (missed > 0) log.warn({ events: missed }, 'events whose webhook had not arrived were taken in')
  await db
    .insertInto('billing_event_sweeps')
    .values({ processor: payments.name, swept_until: begun })
    .onConflict((conflict) => conflict.column('processor').doUpdateSet({ swept_until: begun }))
    .execute()
}

async function renewWaiting({ db, jobs, clock }: Tools): Promise<void> {
  const waiting = await db
    .selectFrom('billing_events')
    .select('id')
    .where('handled_at', 'is', null)
    .where('received_at', '<', sql<Date>`now() - make_interval(mins => ${overdueMinutes})`)
    .orderBy('received_at')
    .limit(atATime)
    .execute()
  for (const { id } of waiting) await jobs.enqueue(db, 'apply-billing-event', { eventId: id })
  const halfDone = await db
    .selectFrom('billing_activations')
    .select('id')
    .where('status', '=', 'pending')
    .where('created_at', '<', new Date(clock().getTime() - overdueMinutes * 60_000))
    .limit(atATime)
    .execute()
  for (const { id } of halfDone) await jobs.enqueue(db, 'resume-activation', { activationId: id })
}
