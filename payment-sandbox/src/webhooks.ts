import { sql } from 'kysely'
import { Stripe } from 'stripe'
import { eventColumns, presentEvent } from './events.ts'
import type { PageLinks } from './page-links.ts'
import type { Store } from './store.ts'

/** Receives a JSON body and the `Stripe-Signature` header; rejects if it did not store the event. */
export type Webhook = (body: string, signature: string) => Promise<void>

const minute = 60_000
const hour = 60 * minute
/** An attempt that takes longer may be followed by another one. */
const leaseMilliseconds = minute
/** Backoff after failed attempts; the last value repeats. */
const backoff = [10_000, minute, 5 * minute, 30 * minute, 2 * hour, 6 * hour, 12 * hour]
const giveUpAfter = 72 * hour

export interface DeliveryOptions {
  store: Store
  links: PageLinks
  webhookSecret: string
}

/** Delivers an event if it is due. A failed attempt is recorded with the time of the next one. */
export async function deliverEvent(
  { store: { db, clock }, links, webhookSecret }: DeliveryOptions,
  id: string,
  webhook: Webhook,
): Promise<void> {
  const startedAt = clock()
  const event = await db
    .updateTable('events')
    .set({ attempts: sql<number>`attempts + 1`, due_at: new Date(startedAt.getTime() + leaseMilliseconds) })
    .where('id', '=', id)
    .where('due_at', '<=', startedAt)
    .returning([...eventColumns, 'attempts'])
    .executeTakeFirst()
  if (event === undefined) return
  const body = JSON.stringify(presentEvent(event, links))
  const timestamp = Math.floor(startedAt.getTime() / 1000)
  const signature = Stripe.webhooks.generateTestHeaderString({
    payload: body,
    secret: webhookSecret,
    timestamp,
  })
  const error = await attempt(() => webhook(body, signature))
  const age = startedAt.getTime() - event.created_at.getTime()
  const wait = backoff[Math.min(event.attempts, backoff.length) - 1] ?? hour
  const retryAt = age + wait > giveUpAfter ? null : new Date(startedAt.getTime() + wait)
  await db
    .updateTable('events')
    .set(
      error === null
        ? { due_at: null, delivered_at: startedAt, last_error: null }
        : { due_at: retryAt, last_error: error },
    )
    .where('id', '=', id)
    // Unchanged if the lease expired and another attempt has started.
    .where('attempts', '=', event.attempts)
    .execute()
}

async function attempt(deliver: () => Promise<void>): Promise<string | null> {
  try {
    await deliver()
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Ids of the due events, oldest first. */
export async function listDueEvents({ db, clock }: Store, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('events')
    .select('id')
    .where('due_at', '<=', clock())
    .orderBy('sequence')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}
