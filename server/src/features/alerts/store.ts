import { sql } from 'kysely'
import type { Insertable, Selectable } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { AlertDestination, WebhookMessagesTable, WebhooksTable } from './tables.ts'

export type Webhook = Selectable<WebhooksTable>
export type WebhookMessage = Selectable<WebhookMessagesTable>

export function findWebhook(db: Database, organizationId: number): Promise<Webhook | undefined> {
  return db
    .selectFrom('webhooks')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

/** Locks the webhook of an organization until the transaction ends. */
export function lockWebhook(db: Database, organizationId: number): Promise<Webhook | undefined> {
  return db
    .selectFrom('webhooks')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .forUpdate()
    .executeTakeFirst()
}

/** Sets the URL of a webhook; a new one gets the nonce, an existing one keeps its own. */
export function upsertWebhook(db: Database, webhook: Insertable<WebhooksTable>): Promise<Webhook> {
  const { url, updated_at } = webhook
  return db
    .insertInto('webhooks')
    .values(webhook)
    .onConflict((conflict) => conflict.column('organization_id').doUpdateSet({ url, updated_at }))
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Keeps the newest `limit` pending messages for a destination and returns how many it deleted. */
export async function dropOldestPending(
  db: Database,
  organizationId: number,
  destination: AlertDestination,
  limit: number,
): Promise<number> {
  // Locks no others, because attempts update them. Another transaction may be deleting the same rows.
  const { numAffectedRows } = await sql`
    DELETE FROM webhook_messages WHERE id IN (
      SELECT id FROM webhook_messages WHERE id IN (
        SELECT id FROM webhook_messages
        WHERE organization_id = ${organizationId} AND destination = ${destination} AND status = 'pending'
        ORDER BY created_at DESC, id DESC OFFSET ${limit}
      ) FOR UPDATE SKIP LOCKED
    )`.execute(db)
  return Number(numAffectedRows)
}

/** Counts an attempt at a message; undefined when it is finished. */
export function startAttempt(db: Database, id: string): Promise<WebhookMessage | undefined> {
  return db
    .updateTable('webhook_messages')
    .set({ attempts: sql`attempts + 1` })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .returningAll()
    .executeTakeFirst()
}

export async function finishMessage(
  db: Database,
  id: string,
  end: { status: 'delivered' | 'failed'; error: string | null; at: Date },
): Promise<void> {
  await db
    .updateTable('webhook_messages')
    .set({ status: end.status, last_error: end.error, finished_at: end.at })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .execute()
}

/** Records a failed attempt to repeat; false when another attempt has finished or started since. */
export async function recordFailedAttempt(
  db: Database,
  { id, attempts }: Pick<WebhookMessage, 'id' | 'attempts'>,
  error: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('webhook_messages')
    .set({ last_error: error })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .where('attempts', '=', attempts)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/** The latest message to the webhook of an organization. */
export function findLatestMessage(db: Database, organizationId: number): Promise<WebhookMessage | undefined> {
  return db
    .selectFrom('webhook_messages')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('destination', '=', 'organization')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}
