import { v7 as uuidv7 } from 'uuid'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import type { Alert } from './alert.ts'
import { dropOldestPending, findWebhook, insertMessage } from './store.ts'
import type { AlertDestination } from './tables.ts'

type Deps = Pick<Services, 'jobs' | 'clock' | 'config' | 'log'>

/**
 * Alerts of an organization that may wait for one destination, so that a receiver that is down doesn't fill
 * the database.
 */
export const maxPending = 1_000

/**
 * Adds an alert about an organization to the outbox, for its webhook and for the operator's, in the caller's
 * transaction.
 */
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

/**
 * Adds an alert for one destination and the job that delivers it. Drops the oldest ones if too many wait.
 * Returns the id of the message.
 */
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
  await insertMessage(transaction, {
    id,
    organization_id: organizationId,
    destination,
    type,
    body,
    created_at: at,
  })
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
