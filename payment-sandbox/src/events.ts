import { sql } from 'kysely'
import { Stripe } from 'stripe'
import type { SandboxDatabase } from './database.ts'
import type { SandboxObject } from './object-types.ts'
import { newId } from './objects.ts'
import type { Page } from './objects.ts'
import type { PageLinks } from './page-links.ts'
import { present } from './present.ts'
import type { Change } from './store.ts'

/** The types that the sandbox sends, all about objects of a customer. */
export type EventType =
  | `customer.${'created' | 'updated'}`
  | `payment_method.${'attached' | 'detached'}`
  | `checkout.session.${'completed' | 'expired'}`
  | `customer.subscription.${'created' | 'updated' | 'deleted'}`
  | `invoice.${'created' | 'finalized' | 'paid' | 'payment_failed' | 'overdue'}`

/** Writes an event into the outbox, in the transaction that changes the object. */
export async function recordEvent(
  { db, now, eventIds }: Change,
  type: EventType,
  object: SandboxObject,
): Promise<void> {
  const id = newId('evt')
  await db
    .insertInto('events')
    .values({ id, type, data: JSON.stringify(object), created_at: now, due_at: now })
    .execute()
  eventIds.push(id)
}

export const eventColumns = ['id', 'type', 'data', 'created_at'] as const

export interface EventRow {
  id: string
  type: string
  data: unknown
  created_at: Date
}

/** An event as the API and the webhook send it. */
export function presentEvent({ id, type, data, created_at: createdAt }: EventRow, links: PageLinks) {
  return {
    id,
    object: 'event',
    api_version: Stripe.API_VERSION,
    created: Math.floor(createdAt.getTime() / 1000),
    data: { object: present(data as SandboxObject, links) },
    livemode: false,
    type,
  } as const
}

/** Newest first, one more than the page's limit; `since` in seconds since 1970. */
export async function listEventRows(
  db: SandboxDatabase,
  since: number,
  { limit, startingAfter }: Page,
): Promise<EventRow[]> {
  let query = db
    .selectFrom('events')
    .select(eventColumns)
    .where(sql<number>`floor(extract(epoch from created_at))`, '>=', since)
    .orderBy('sequence', 'desc')
    .limit(limit + 1)
  if (startingAfter !== undefined) {
    const last = db.selectFrom('events').select('sequence').where('id', '=', startingAfter)
    query = query.where('sequence', '<', last)
  }
  return query.execute()
}
