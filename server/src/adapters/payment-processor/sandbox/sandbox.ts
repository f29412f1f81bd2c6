import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { Stripe } from 'stripe'
import type { Database, DatabaseTransaction } from '../../../database/tables.ts'
import type { PaymentProcessor } from '../../../ports/payment-processor.ts'
import { createStripeProcessor } from '../stripe/processor.ts'
import { buildSandboxApi } from './api.ts'
import { deliverEvent, listDueEvents } from './deliver.ts'
import type { PostWebhook } from './deliver.ts'
import { createEngine } from './engine.ts'
import { sandboxPages } from './pages/pages.ts'
import { createAddresses, createPageSecrets, deriveKey } from './secrets.ts'
import { advanceClock, forgetOld } from './tick.ts'

export interface SandboxOptions {
  db: Database
  clock: () => Date
  /** The server's own key, from which all of the sandbox's are derived */
  secretKey: string
  publicUrl: URL
  installation: string
  enqueueDelivery(db: DatabaseTransaction, eventId: string): Promise<void>
  onError(error: unknown): void
}

/** A payment processor of our own that charges nobody: Stripe's API as far as Berth uses it, kept in our database. */
export interface PaymentSandbox {
  processor: PaymentProcessor
  /** The REST API, for clients beside `processor`; a request needs `Authorization: Bearer <apiKey>` */
  api: FastifyInstance
  apiKey: string
  /** What events are signed with */
  webhookSecret: string
  /** Pages for people: checkout, customer portal, invoices; to be registered at `path` */
  pages: FastifyPluginAsync
  path: string
  deliverEvent(id: string, post: PostWebhook): Promise<void>
  /** Does what the clock has brought: ends periods, charges invoices, delivers events again; each minute. */
  tick(post: PostWebhook): Promise<void>
}

const path = '/sandbox/billing'
const mostDeliveries = 500

export function createSandbox(options: SandboxOptions): PaymentSandbox {
  const { secretKey, publicUrl, installation } = options
  const engine = createEngine(options)
  const secrets = createPageSecrets(deriveKey(secretKey, 'pages'))
  const base = publicUrl.href.replace(/\/$/, '') + path
  const addresses = createAddresses(base, secrets)
  const apiKey = `sk_test_${deriveKey(secretKey, 'API').slice(0, 40)}`
  const webhookSecret = `whsec_${deriveKey(secretKey, 'webhooks')}`
  const api = buildSandboxApi({
    engine,
    secretKey: apiKey,
    secrets,
    addresses,
    onError: (error) => options.onError(error),
  })
  const processor = createStripeProcessor({
    name: 'sandbox',
    secretKey: apiKey,
    publishableKey: 'pk_test_sandbox',
    webhookSecret,
    installation,
    httpClient: Stripe.createFetchHttpClient(fetchFrom(api)),
  })
  const delivery = { engine, webhookSecret, secrets, addresses }
  return {
    processor: { ...processor, close: () => api.close() },
    api,
    apiKey,
    webhookSecret,
    path,
    pages: sandboxPages({ engine, secrets, addresses, publicOrigin: publicUrl.origin }),
    deliverEvent: (id, post) => deliverEvent(delivery, id, post),
    async tick(post) {
      await advanceClock(engine, (error) => options.onError(error))
      await forgetOld(engine)
      for (const id of await listDueEvents(engine, mostDeliveries)) await deliverEvent(delivery, id, post)
    },
  }
}

/** `fetch` whose requests reach the app within the process. */
function fetchFrom(app: FastifyInstance) {
  return async (address: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(address instanceof Request ? address.url : address)
    const reply = await app.inject({
      method: (init.method ?? 'GET') as 'GET' | 'POST' | 'DELETE',
      url: url.pathname + url.search,
      headers: Object.fromEntries(new Headers(init.headers)),
      ...(typeof init.body === 'string' ? { payload: init.body } : {}),
    })
    const headers = Object.entries(reply.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ])
    return new Response(reply.rawPayload as Uint8Array<ArrayBuffer>, { status: reply.statusCode, headers })
  }
}
