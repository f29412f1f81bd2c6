import { createHmac } from 'node:crypto'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import type { Pool } from 'pg'
import { buildApi } from './api/api.ts'
import { deleteOld, runDueSteps } from './clock.ts'
import { migrate, openDatabase } from './database.ts'
import { createPageLinks } from './page-links.ts'
import { checkoutPages } from './pages/checkout.ts'
import { notFound, showError } from './pages/context.ts'
import type { PageContext } from './pages/context.ts'
import { invoicePages } from './pages/invoice.ts'
import { portalPages } from './pages/portal.ts'
import { createStore } from './store.ts'
import { deliverEvent, listDueEvents } from './webhooks.ts'
import type { Webhook } from './webhooks.ts'

export type { Webhook }

export interface PaymentSandboxOptions {
  /** The sandbox keeps its tables in the schema `payment_sandbox`; the caller closes the pool. */
  pool: Pool
  clock: () => Date
  /** The API key, the webhook secret and the secrets of page links are derived from this secret. */
  secretKey: string
  /** Public URL of the server that registers the pages */
  publicUrl: URL
  /** Called with the id of each stored event; schedules the call of `deliver`. */
  onEvent: (eventId: string) => Promise<void>
  onError: (error: unknown) => void
}

/** A payment processor without real charges: the part of Stripe's API, pages and webhooks that Berth uses. */
export interface PaymentSandbox {
  /** The REST API. A request needs `Authorization: Bearer <apiKey>`. */
  api: FastifyInstance
  /** Calls `api` within the process; the URL's host is ignored. */
  fetch: (url: string | URL | Request, init?: RequestInit) => Promise<Response>
  apiKey: string
  /** Key of the `Stripe-Signature` of events */
  webhookSecret: string
  /** Serves the checkout, the customer portal and invoices under `/sandbox/billing`. */
  pages: FastifyPluginAsync
  /** Delivers one event; a failed delivery is retried by `tick` for three days. */
  deliver(eventId: string, webhook: Webhook): Promise<void>
  /** Runs everything that is due: ends of periods, charges, deliveries. Call it every minute. */
  tick(webhook: Webhook): Promise<void>
  close(): Promise<void>
}

const pagesPath = '/sandbox/billing'
const maxDeliveries = 500

export async function openPaymentSandbox(options: PaymentSandboxOptions): Promise<PaymentSandbox> {
  const { pool, clock, secretKey, publicUrl, onEvent, onError } = options
  const db = openDatabase(pool)
  await migrate(db)
  const store = createStore({
    db,
    clock,
    async onEvents(ids) {
      // An event that is not announced is delivered by the next tick.
      for (const id of ids) await onEvent(id).catch(onError)
    },
  })
  const links = createPageLinks(publicUrl.href.replace(/\/$/, '') + pagesPath, deriveKey(secretKey, 'pages'))
  const apiKey = `sk_test_${deriveKey(secretKey, 'API').slice(0, 40)}`
  const webhookSecret = `whsec_${deriveKey(secretKey, 'webhooks')}`
  const api = buildApi({ store, links, apiKey, onError })
  const pages = sandboxPages({ store, links })
  const delivery = { store, links, webhookSecret }
  return {
    api,
    fetch: (url, init) => fetchFrom(api, url, init),
    apiKey,
    webhookSecret,
    async pages(app) {
      await app.register(pages, { prefix: pagesPath })
    },
    deliver: (eventId, webhook) => deliverEvent(delivery, eventId, webhook),
    async tick(webhook) {
      await runDueSteps(store, onError)
      await deleteOld(store)
      for (const id of await listDueEvents(store, maxDeliveries)) await deliverEvent(delivery, id, webhook)
    },
    close: () => api.close(),
  }
}

/** The pages for customers: the secret in a URL grants access. The server rejects cross-site submissions. */
function sandboxPages(context: PageContext): FastifyPluginAsync {
  return async (app) => {
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: 16_384 },
      (_request, body, done) => {
        // PostgreSQL can't store a NUL.
        const fields = new URLSearchParams((body as string).replaceAll(/\0|%00/g, ''))
        done(null, Object.fromEntries(fields))
      },
    )
    app.setErrorHandler((error, _request, reply) => showError(context, reply, error))
    app.setNotFoundHandler((_request, reply) => showError(context, reply, notFound()))
    app.addHook('onRequest', async ({ url }) => {
      if (url.includes('%00')) throw notFound()
    })
    checkoutPages(app, context)
    portalPages(app, context)
    invoicePages(app, context)
  }
}

function deriveKey(secretKey: string, purpose: string): string {
  return createHmac('sha256', secretKey).update(`payment sandbox: ${purpose}`).digest('hex')
}

async function fetchFrom(
  api: FastifyInstance,
  address: string | URL | Request,
  init: RequestInit = {},
): Promise<Response> {
  const url = new URL(address instanceof Request ? address.url : address)
  const reply = await api.inject({
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
