import { sql } from 'kysely'
import { Stripe } from 'stripe'
import type { Engine } from './engine.ts'
import { eventColumns, toEvent } from './events.ts'
import { present } from './secrets.ts'
import type { Addresses, PageSecrets } from './secrets.ts'

/** Posts a webhook's body with its signature and returns the status of the answer. */
export type PostWebhook = (body: string, signature: string) => Promise<number>

const minute = 60_000
const hour = 60 * minute
/** How long an attempt has before another may follow. */
const leaseMilliseconds = minute
/** Waits after a failed attempt, the last one again and again. */
const waits = [10_000, minute, 5 * minute, 30 * minute, 2 * hour, 6 * hour, 12 * hour]
const giveUpAfter = 72 * hour

export interface Delivery {
  engine: Engine
  webhookSecret: string
  secrets: PageSecrets
  addresses: Addresses
}

/** Attempts to deliver an event if it is due; a failure is recorded with the moment of the next attempt. */
export async function deliverEvent(
  { engine, webhookSecret, secrets, addresses }: Delivery,
  id: string,
  post: PostWebhook,
): Promise<void> {
  const { db, clock } = engine
  const startedAt = clock()
  const event = await db
    .updateTable('sandbox_events')
    .set({
      attempts: sql<number>`attempts + 1`,
      due_at: new Date(startedAt.getTime() + leaseMilliseconds),
    })
    .where('id', '=', id)
    .where('due_at', '<=', startedAt)
    .returning([...eventColumns, 'attempts'])
    .executeTakeFirst()
  if (event === undefined) return
  const shown = toEvent(event, Stripe.API_VERSION)
  const body = JSON.stringify({ ...shown, data: { object: present(shown.data.object, secrets, addresses) } })
  const timestamp = Math.floor(startedAt.getTime() / 1000)
  const signature = Stripe.webhooks.generateTestHeaderString({
    payload: body,
    secret: webhookSecret,
    timestamp,
  })
  const problem = await attempt(() => post(body, signature))
  const age = startedAt.getTime() - event.created_at.getTime()
  const wait = waits[Math.min(event.attempts, waits.length) - 1] ?? hour
  await db
    .updateTable('sandbox_events')
    .set(
      problem === null
        ? { due_at: null, delivered_at: startedAt, last_error: null }
        : {
            due_at: age + wait > giveUpAfter ? null : new Date(startedAt.getTime() + wait),
            last_error: problem,
          },
    )
    .where('id', '=', id)
    // Not if the lease ran out and another attempt has begun.
    .where('attempts', '=', event.attempts)
    .execute()
}

async function attempt(send: () => Promise<number>): Promise<string | null> {
  try {
    const status = await send()
    return status >= 200 && status < 300 ? null : `the webhook answered ${status}`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Ids of events whose time has come, oldest first. */
export async function listDueEvents({ db, clock }: Engine, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('sandbox_events')
    .select('id')
    .where('due_at', '<=', clock())
    .orderBy('sequence')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}
