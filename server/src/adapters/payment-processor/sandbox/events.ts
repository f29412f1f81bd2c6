import type { Stripe } from 'stripe'
import { sql } from 'kysely'
import type { Database } from '../../../database/tables.ts'
import { newId } from './store.ts'
import type { SandboxObject, Step } from './store.ts'

/** What the sandbox tells about, named as Stripe names it. */
export type EventType =
  | `customer.${'created' | 'updated' | 'deleted'}`
  | `payment_method.${'attached' | 'detached'}`
  | `setup_intent.${'created' | 'requires_action' | 'succeeded' | 'setup_failed'}`
  | `checkout.session.${'completed' | 'expired'}`
  | `product.${'created' | 'updated'}`
  | `price.${'created' | 'updated'}`
  | `billing.meter.created`
  | `customer.subscription.${'created' | 'updated' | 'deleted'}`
  | `invoiceitem.created`
  | `invoice.${'created' | 'updated' | 'finalized' | 'paid' | 'payment_succeeded' | 'payment_failed' | 'payment_action_required' | 'sent' | 'overdue' | 'voided'}`
  | 'billing_portal.session.created'

/** Records that something happened, in the transaction in which it does, and enqueues the webhook that tells of it. */
export async function recordEvent(step: Step, type: EventType, about: SandboxObject): Promise<void> {
  const id = newId('evt')
  await step.db
    .insertInto('sandbox_events')
    .values({ id, type, data: JSON.stringify(about), created_at: step.now, due_at: step.now })
    .execute()
  await step.enqueueDelivery(step.db, id)
}

interface EventRow {
  id: string
  type: string
  data: unknown
  created_at: Date
  due_at: Date | null
}

/** `pending_webhooks` is 1 while it is still to be delivered. */
export function toEvent({ id, type, data, created_at, due_at }: EventRow, apiVersion: string): Stripe.Event {
  const event = {
    id,
    object: 'event',
    api_version: apiVersion,
    created: Math.floor(created_at.getTime() / 1000),
    data: { object: data as Stripe.Event.Data['object'] },
    livemode: false,
    pending_webhooks: due_at === null ? 0 : 1,
    request: { id: null, idempotency_key: null },
    type: type as Stripe.Event['type'],
  } satisfies Omit<Stripe.EventBase, 'type'> & { type: Stripe.Event['type'] }
  return event as Stripe.Event
}

export const eventColumns = ['id', 'type', 'data', 'created_at', 'due_at'] as const

/** Newest first, one more than `limit` so that the caller sees whether more follow. */
export async function listEventRows(
  db: Database,
  filter: {
    limit: number
    startingAfter?: string | undefined
    type?: string | undefined
    types?: string[] | undefined
    created?: { gt?: number; gte?: number; lt?: number; lte?: number } | undefined
  },
): Promise<EventRow[]> {
  let query = db
    .selectFrom('sandbox_events')
    .select(eventColumns)
    .orderBy('sequence', 'desc')
    .limit(filter.limit + 1)
  const { created = {}, startingAfter } = filter
  // Events count in whole seconds, as their `created` shows them.
  const second = sql<number>`floor(extract(epoch from created_at))`
  if (created.gt !== undefined) query = query.where(second, '>', created.gt)
  if (created.gte !== undefined) query = query.where(second, '>=', created.gte)
  if (created.lt !== undefined) query = query.where(second, '<', created.lt)
  if (created.lte !== undefined) query = query.where(second, '<=', created.lte)
  if (filter.type !== undefined) query = query.where('type', '=', filter.type)
  if (filter.types !== undefined) query = query.where('type', 'in', filter.types)
  if (startingAfter !== undefined) {
    const last = db.selectFrom('sandbox_events').select('sequence').where('id', '=', startingAfter)
    query = query.where('sequence', '<', last)
  }
  return query.execute()
}
