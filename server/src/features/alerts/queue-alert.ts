import { v7 as uuidv7 } from 'uuid'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import type { Alert } from './alert.ts'
import { dropOldestPending, findWebhook } from './store.ts'
import type { AlertDestination } from './tables.ts'

type Deps = Pick<Services, 'jobs' | 'clock' | 'config' | 'log'>

/** Most alerts of an organization that wait for a destination, so that they don't fill the database. */
export const maxPending = 1_000

/** Adds an alert to the outbox for the webhooks of the organization and of the operator. */
export async function queueAlert(
  deps: Deps,
  transaction: DatabaseTransaction,
  organizationId: number,
  alert: Alert,
): Promise<void> {
  if ((await findWebhook(transaction, organizationId)) !== undefined) {
    await queueMessage(deps, transaction, organizationId, 'organization', alert)
  }
  if (deps.config.alerts.operator !== null) {
    await queueMessage(deps, transaction, organizationId, 'operator', alert)
  }
}

/** Adds an alert and its delivery job, and drops the oldest if too many wait. Returns the message's id. */
export async function queueMessage(
  { jobs, clock, log }: Deps,
  transaction: DatabaseTransaction,
  organizationId: number,
  destination: AlertDestination,
  { type, data }: Alert,
): Promise<string> {
  const id = `msg_${uuidv7()}`
  const at = clock()
  const body = JSON.stringify({ type, timestamp: at, data: { organization_id: organizationId, ...data } })
  await transaction
    .insertInto('webhook_messages')
    .values({ id, organization_id: organizationId, destination, type, body, created_at: at })
    .execute()
  const dropped = await dropOldestPending(transaction, organizationId, destination, maxPending)
  if (dropped > 0) {
    log.warn(
      { organization: organizationId, destination, dropped },
      'the oldest undelivered alerts were dropped',
    )
  }
  await jobs.enqueue(transaction, 'deliver-alert', { messageId: id })
  return id
}
