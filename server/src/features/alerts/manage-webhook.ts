import { NotFoundError, RateLimitedError, invalidField } from '../../base/errors.ts'
import type { ApplicationError } from '../../base/errors.ts'
import { literalAddress, mayReach } from '../../base/outgoing-addresses.ts'
import type { Viewer } from '../../base/viewer.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { recordAction } from '../audit/record-action.ts'
import { queueMessage } from './queue-alert.ts'
import { findLatestMessage, findWebhook, lockWebhook, upsertWebhook } from './store.ts'
import type { Webhook, WebhookMessage } from './store.ts'
import { createNonce, deriveWebhookSecret } from './webhook-secret.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'secretKey'>

export interface WebhookStatus {
  webhook: Webhook
  /** The latest alert that was sent to it, if any */
  latest: WebhookMessage | undefined
}

/** The webhook of the viewer's current organization. Throws `not_found` without one. */
export async function getWebhook({ db }: Pick<Deps, 'db'>, viewer: Viewer): Promise<WebhookStatus> {
  const webhook = await findWebhook(db, viewer.organizationId)
  if (webhook === undefined) throw noWebhook()
  return { webhook, latest: await findLatestMessage(db, viewer.organizationId) }
}

/** Sets the URL. Only this call returns the signing secret, which a new webhook gets. */
export async function setWebhook(
  deps: Deps,
  viewer: Viewer,
  url: string,
): Promise<WebhookStatus & { secret: string | null }> {
  const { db, clock, config, secretKey } = deps
  const { organizationId } = viewer
  assertAllowed(new URL(url), config.alerts.networks)
  const nonce = createNonce()
  const at = clock()
  return db.transaction().execute(async (transaction) => {
    const before = await lockWebhook(transaction, organizationId)
    const webhook = await upsertWebhook(transaction, {
      organization_id: organizationId,
      url,
      secret_nonce: nonce,
      created_at: at,
      updated_at: at,
    })
    await record(transaction, viewer, 'webhook.updated', {
      host: new URL(url).host,
      ...(before && { before: { host: new URL(before.url).host } }),
    })
    const secret = webhook.secret_nonce === nonce ? deriveWebhookSecret(secretKey, nonce) : null
    return { webhook, latest: await findLatestMessage(transaction, organizationId), secret }
  })
}

/** Removes the webhook. Alerts that were not delivered yet are dropped. */
export async function removeWebhook({ db }: Pick<Deps, 'db'>, viewer: Viewer): Promise<void> {
  await changeWebhook({ db }, viewer, async (transaction) => {
    await record(transaction, viewer, 'webhook.deleted')
    await transaction.deleteFrom('webhooks').where('organization_id', '=', viewer.organizationId).execute()
  })
}

/** Rotates the signing secret and returns the new one. The next attempts use it. */
export async function rotateSecret(deps: Deps, viewer: Viewer): Promise<string> {
  const nonce = createNonce()
  await changeWebhook(deps, viewer, async (transaction) => {
    await record(transaction, viewer, 'webhook.secret_rotated')
    await transaction
      .updateTable('webhooks')
      .set({ secret_nonce: nonce, updated_at: deps.clock() })
      .where('organization_id', '=', viewer.organizationId)
      .execute()
  })
  return deriveWebhookSecret(deps.secretKey, nonce)
}

const testPauseMilliseconds = 5_000

/** Queues an alert that says nothing, at most every five seconds. Returns its id. */
export function testWebhook(deps: Deps, viewer: Viewer): Promise<string> {
  const { organizationId } = viewer
  return changeWebhook(deps, viewer, async (transaction) => {
    const latest = await findLatestMessage(transaction, organizationId)
    const age = deps.clock().getTime() - (latest?.created_at.getTime() ?? 0)
    if (latest?.type === 'webhook.test' && age >= 0 && age < testPauseMilliseconds) {
      const message = 'A test alert was sent less than five seconds ago. Wait a moment.'
      throw new RateLimitedError((testPauseMilliseconds - age) / 1000, message)
    }
    await record(transaction, viewer, 'webhook.tested')
    return queueMessage(deps, transaction, organizationId, 'organization', { type: 'webhook.test', data: {} })
  })
}

function changeWebhook<Result>(
  { db }: Pick<Deps, 'db'>,
  { organizationId }: Viewer,
  change: (transaction: DatabaseTransaction) => Promise<Result>,
): Promise<Result> {
  return db.transaction().execute(async (transaction) => {
    if ((await lockWebhook(transaction, organizationId)) === undefined) throw noWebhook()
    return change(transaction)
  })
}

type WebhookAction = 'webhook.updated' | 'webhook.deleted' | 'webhook.secret_rotated' | 'webhook.tested'

function record(
  transaction: DatabaseTransaction,
  viewer: Viewer,
  action: WebhookAction,
  details: Record<string, unknown> = {},
): Promise<void> {
  const target = { type: 'organization', id: viewer.organizationId } as const
  return recordAction(transaction, viewer, action, { target, details })
}

/** Names are checked when a connection is made, because their addresses may change. */
function assertAllowed(url: URL, networks: readonly string[]): void {
  const literal = literalAddress(url)
  if (url.protocol === 'http:' && networks.length === 0) throw invalidUrl('Must be an https address.')
  if (literal === null || mayReach(url, literal, networks)) return
  throw invalidUrl('Must be a public address: webhooks don’t reach the network of this server.')
}

function invalidUrl(message: string): ApplicationError {
  return invalidField('url', message, 'invalid_value')
}

function noWebhook(): NotFoundError {
  return new NotFoundError('The organization has no webhook.')
}
