import type { Services } from '../../services.ts'
import { isPastRetryDeadline, retryDelaySeconds } from '../mail/retry-schedule.ts'
import { postMessage } from './post-message.ts'
import type { Endpoint } from './post-message.ts'
import { findWebhook, finishMessage, recordFailedAttempt, startAttempt } from './store.ts'
import type { WebhookMessage } from './store.ts'
import { deriveWebhookSecret } from './webhook-secret.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'secretKey'>

/** Makes one attempt. If the process dies before it records it, the receiver gets the same id twice. */
export async function deliverAlert(deps: Deps, messageId: string): Promise<void> {
  const { db, clock, log } = deps
  const message = await startAttempt(db, messageId)
  if (message === undefined) return
  const endpoint = await findEndpoint(deps, message)
  if (endpoint === null) {
    await finishMessage(db, message.id, { status: 'failed', error: 'The webhook was removed.', at: clock() })
    return
  }
  const result = await postMessage(endpoint, message, { now: clock(), proxy: deps.config.proxy })
  if (result.outcome === 'delivered') {
    await finishMessage(db, message.id, { status: 'delivered', error: null, at: clock() })
    return
  }
  const { reason } = result
  log.warn({ message: message.id, attempt: message.attempts, reason }, 'an alert was not delivered')
  if (result.outcome === 'rejected' || isPastRetryDeadline(message.created_at, clock())) {
    await finishMessage(db, message.id, { status: 'failed', error: reason, at: clock() })
  } else {
    await retryLater(deps, message, reason)
  }
}

async function findEndpoint(
  { db, config, secretKey }: Deps,
  { destination, organization_id: organizationId }: WebhookMessage,
): Promise<Endpoint | null> {
  const { operator, networks } = config.alerts
  if (destination === 'operator') return operator && { ...operator, networks: null }
  const webhook = await findWebhook(db, organizationId)
  if (webhook === undefined) return null
  return {
    url: new URL(webhook.url),
    secret: deriveWebhookSecret(secretKey, webhook.secret_nonce),
    networks,
  }
}

async function retryLater({ db, jobs }: Deps, message: WebhookMessage, reason: string): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    if (!(await recordFailedAttempt(transaction, message, reason))) return
    const afterSeconds = retryDelaySeconds(message.attempts)
    await jobs.enqueue(transaction, 'deliver-alert', { messageId: message.id }, { afterSeconds })
  })
}
