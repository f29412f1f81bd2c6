import type { Services } from '../../services.ts'
import type { App } from '../../http/app.ts'
import { unpackRequest } from '../../http/unpack-body.ts'
import { readAccountUsage } from './usage/account-usage.ts'
import { activatePostpaid } from './processor/activate.ts'
import { setCollectionMethod } from './processor/collection-method.ts'
import { receiveWebhook } from './processor/events.ts'
import { assertBillingOn } from './account/errors.ts'
import { changeErrors, paymentRoutes } from './payment-routes.ts'
import {
  activatePostpaidBody,
  billingAccountBody,
  billingConfigBody,
  collectionMethodBody,
  receivedBody,
  subscriptionBody,
  toAccountBody,
  toSubscriptionBody,
  webhookBody,
  webhookHeaders,
} from './schemas.ts'
import { ensureAccount } from './account/store.ts'
import type { BillingAccount } from './account/store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'payments' | 'prices'>

const tags = ['Billing']
const manage = { permission: 'manageBilling' } as const
const read = { permission: 'readUsage' } as const

/** The routes of an organization's billing account, its subscription and its payments. */
export function billingRoutes(app: App, deps: Deps): void {
  const preHandler = async () => assertBillingOn(deps.config)
  app.get(
    '/v1/billing/config',
    {
      config: read,
      schema: {
        operationId: 'getBillingConfig',
        summary: 'Get the billing features of this installation',
        tags,
        response: { 200: billingConfigBody },
      },
    },
    async () => ({
      publishable_key: deps.payments.publishableKey,
      features: {
        processor: deps.payments.name,
        postpaid: deps.config.billing.isOn,
        send_invoice: deps.config.billing.isOn,
        portal: deps.config.billing.isOn,
        trial: deps.config.billing.trial,
      },
      deployment_limits: {
        trial: deps.config.billing.trialMaxActive,
        postpaid: deps.config.billing.postpaidMaxActive,
      },
    }),
  )

  app.get(
    '/v1/billing/account',
    {
      config: manage,
      schema: {
        operationId: 'getBillingAccount',
        summary: 'Get the billing account of your current organization',
        tags,
        response: { 200: billingAccountBody },
      },
    },
    async ({ viewer }) => {
      const account = await getAccount(deps, viewer)
      return toAccountBody(account, await readAccountUsage(deps, account), deps.config, deps.clock())
    },
  )

  app.get(
    '/v1/billing/subscription',
    {
      config: manage,
      schema: {
        operationId: 'getSubscription',
        summary: 'Get the subscription of your current organization',
        tags,
        response: { 200: subscriptionBody },
      },
    },
    async ({ viewer }) => toSubscriptionBody(await getAccount(deps, viewer), deps.clock()),
  )

  app.post(
    '/v1/billing/subscription/activate-postpaid',
    {
      config: manage,
      preHandler,
      schema: {
        operationId: 'activatePostpaid',
        summary: 'Activate postpaid billing: a monthly subscription charged to a card',
        description:
          'Returns the existing subscription if there is one. A declined card is a 409 `card_declined`; a card that needs its owner’s authentication is a 409 `authentication_required`.',
        tags,
        body: activatePostpaidBody,
        response: {
          200: subscriptionBody,
        },
        errors: [
          ...changeErrors,
          'not_found',
          'account_suspended',
          'card_declined',
          'authentication_required',
        ],
      },
    },
    async ({ body, viewer }) =>
      toSubscriptionBody(
        await activatePostpaid(deps, viewer, body.processor_payment_method_id),
        deps.clock(),
      ),
  )

  app.patch(
    '/v1/billing/subscription/collection-method',
    {
      config: manage,
      preHandler,
      schema: {
        operationId: 'updateCollectionMethod',
        summary: 'Update whether invoices are charged to the card or sent',
        tags,
        body: collectionMethodBody,
        response: { 200: subscriptionBody },
        errors: [...changeErrors, 'account_suspended', 'billing_not_activated', 'payment_method_required'],
      },
    },
    async ({ body, viewer }) =>
      toSubscriptionBody(await setCollectionMethod(deps, viewer, body.collection_method), deps.clock()),
  )
  paymentRoutes(app, deps)
}

function getAccount(deps: Deps, { organizationId }: { organizationId: number }): Promise<BillingAccount> {
  return ensureAccount(deps.db, deps.config, organizationId, deps.clock())
}

/** The webhook of the payment processor. It needs its own scope because the signature covers the raw body. */
export function billingWebhookRoute(app: App, deps: Deps): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, unpackRequest)
  // The schemas of the request are documentation: the signature proves that the processor wrote the body.
  app.setValidatorCompiler(() => (value) => ({ value }))

  app.post(
    '/v1/billing/webhook',
    {
      config: { csrf: false, readsRawBody: true },
      schema: {
        operationId: 'receiveBillingWebhook',
        summary: 'Receive an event of the payment processor',
        description:
          'Accepts Stripe events with a `Stripe-Signature` over the raw body. The affected objects are fetched from the processor again, so the order and repetition of events don’t matter.',
        tags: ['Billing'],
        security: [],
        headers: webhookHeaders,
        body: webhookBody,
        response: { 200: receivedBody },
        errors: ['invalid_signature'],
      },
    },
    async ({ body, headers }) => {
      const signature = headers['stripe-signature']
      const rawBody = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
      await receiveWebhook(deps, rawBody, typeof signature === 'string' ? signature : '')
      return { received: true as const }
    },
  )
}
