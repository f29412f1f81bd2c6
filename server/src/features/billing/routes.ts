import { z } from 'zod'
import type { Services } from '../../services.ts'
import type { App } from '../../http/app.ts'
import { bodyProblems, problems, protectedProblems } from '../../http/openapi.ts'
import { readAccountUsage } from './account-usage.ts'
import { activatePostpaid } from './activate.ts'
import { setCollectionMethod } from './collection-method.ts'
import { callProcessor } from './errors.ts'
import { receiveWebhook } from './events.ts'
import { detachPaymentMethod, listPaymentMethods, setDefaultPaymentMethod } from './payment-methods.ts'
import {
  activatePostpaidBody,
  billingAccountBody,
  billingConfigBody,
  checkoutSessionBody,
  collectionMethodBody,
  defaultPaymentMethodBody,
  invoicesBody,
  paymentMethodBody,
  paymentMethodsBody,
  portalSessionBody,
  portalUrlBody,
  receivedBody,
  setupSessionBody,
  subscriptionBody,
  toAccountBody,
  toCheckoutSessionBody,
  toInvoiceBody,
  toPaymentMethodBody,
  webhookBody,
  webhookHeaders,
  toSubscriptionBody,
} from './schemas.ts'
import { createPortalSession, createSetupSession } from './hosted-pages.ts'
import { ensureAccount } from './store.ts'
import type { BillingAccount } from './store.ts'
import type { Price } from '../metering/prices.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'payments'> & {
  prices: readonly Price[]
}

const tags = ['Billing']
const manage = { permission: 'manageBilling' } as const
const read = { permission: 'readUsage' } as const

export function billingRoutes(app: App, deps: Deps): void {
  const { config, payments, log } = deps
  const getAccount = ({ organizationId }: { organizationId: number }): Promise<BillingAccount> =>
    ensureAccount(deps.db, config, organizationId, deps.clock())

  app.get(
    '/v1/billing/config',
    {
      config: read,
      schema: {
        operationId: 'getBillingConfig',
        summary: 'Get the billing features of this installation',
        tags,
        response: { 200: billingConfigBody, ...protectedProblems },
      },
    },
    async () => ({
      publishable_key: payments.publishableKey,
      features: {
        processor: payments.name,
        postpaid: true,
        send_invoice: true,
        portal: true,
        trial: config.billing.trial,
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
        response: { 200: billingAccountBody, ...protectedProblems },
      },
    },
    async ({ viewer }) => {
      const account = await getAccount(viewer)
      return toAccountBody(account, await readAccountUsage(deps, account))
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
        response: { 200: subscriptionBody, ...protectedProblems },
      },
    },
    async ({ viewer }) => toSubscriptionBody(await getAccount(viewer)),
  )

  app.post(
    '/v1/billing/subscription/activate-postpaid',
    {
      config: manage,
      schema: {
        operationId: 'activatePostpaid',
        summary: 'Activate postpaid billing: a monthly subscription charged to a card',
        description:
          'Returns the existing subscription if there is one. A declined card is a 409 `card_declined`; a card that needs its owner’s authentication is a 409 `authentication_required`.',
        tags,
        body: activatePostpaidBody,
        response: {
          200: subscriptionBody,
          ...protectedProblems,
          ...bodyProblems,
          ...problems(404, 409, 503),
        },
      },
    },
    async ({ body, viewer }) =>
      toSubscriptionBody(await activatePostpaid(deps, viewer, body.processor_payment_method_id)),
  )

  app.patch(
    '/v1/billing/subscription/collection-method',
    {
      config: manage,
      schema: {
        operationId: 'setCollectionMethod',
        summary: 'Set whether invoices are charged to the card or sent',
        tags,
        body: collectionMethodBody,
        response: { 200: subscriptionBody, ...protectedProblems, ...bodyProblems, ...problems(409, 503) },
      },
    },
    async ({ body, viewer }) =>
      toSubscriptionBody(await setCollectionMethod(deps, viewer, body.collection_method)),
  )

  app.get(
    '/v1/billing/payment-methods',
    {
      config: manage,
      schema: {
        operationId: 'listPaymentMethods',
        summary: 'List the saved cards of your current organization',
        tags,
        response: { 200: paymentMethodsBody, ...protectedProblems, ...problems(503) },
      },
    },
    async ({ viewer }) => (await listPaymentMethods(deps, viewer)).map(toPaymentMethodBody),
  )

  app.patch(
    '/v1/billing/payment-methods/default',
    {
      config: manage,
      schema: {
        operationId: 'setDefaultPaymentMethod',
        summary: 'Set the card that invoices are charged to',
        tags,
        body: defaultPaymentMethodBody,
        response: { 200: paymentMethodBody, ...protectedProblems, ...bodyProblems, ...problems(404, 503) },
      },
    },
    async ({ body, viewer }) => {
      const { processor_default_payment_method_id: cardId } = body
      return toPaymentMethodBody(await setDefaultPaymentMethod(deps, viewer, cardId))
    },
  )

  app.delete(
    '/v1/billing/payment-methods/:payment_method_id',
    {
      config: manage,
      schema: {
        operationId: 'detachPaymentMethod',
        summary: 'Remove a saved card',
        description:
          'A card that the subscription is charged to can’t be removed: 409 `payment_method_in_use`.',
        tags,
        params: z.object({ payment_method_id: z.string() }),
        response: { 204: z.null(), ...protectedProblems, ...problems(404, 409, 503) },
      },
    },
    async ({ params, viewer }, reply) => {
      await detachPaymentMethod(deps, viewer, params.payment_method_id)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/v1/billing/portal/session',
    {
      config: manage,
      schema: {
        operationId: 'createPortalSession',
        summary: 'Create a session of the payment processor’s portal for cards and invoices',
        tags,
        body: portalSessionBody(config.publicUrl),
        response: { 200: portalUrlBody, ...protectedProblems, ...bodyProblems, ...problems(503) },
      },
    },
    async ({ body, viewer }) => ({ url: await createPortalSession(deps, viewer, body.return_url) }),
  )

  app.post(
    '/v1/billing/checkout/setup-session',
    {
      config: manage,
      schema: {
        operationId: 'createSetupSession',
        summary: 'Create a checkout session for saving a card',
        tags,
        body: setupSessionBody(config.publicUrl),
        response: { 200: checkoutSessionBody, ...protectedProblems, ...bodyProblems, ...problems(503) },
      },
    },
    async ({ body, viewer }) => {
      const { purpose, return_url: returnUrl } = body
      return toCheckoutSessionBody(await createSetupSession(deps, viewer, { purpose, returnUrl }))
    },
  )

  app.get(
    '/v1/billing/invoices',
    {
      config: manage,
      schema: {
        operationId: 'listInvoices',
        summary: 'List the invoices of your current organization, newest first',
        tags,
        response: { 200: invoicesBody, ...protectedProblems, ...problems(503) },
      },
    },
    async ({ viewer }) => {
      const { processor_customer_id: customerId } = await getAccount(viewer)
      if (customerId === null) return []
      return (await callProcessor(log, () => payments.listInvoices(customerId))).map(toInvoiceBody)
    },
  )
}

/** The webhook of the payment processor. It needs its own scope because the signature covers the raw body. */
export function billingWebhookRoute(app: App, deps: Deps): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  // The schemas of the request are documentation: the signature proves that the processor wrote the body.
  app.setValidatorCompiler(() => (value) => ({ value }))

  app.post(
    '/v1/billing/webhook',
    {
      config: { csrf: false },
      schema: {
        operationId: 'receiveBillingWebhook',
        summary: 'Receive an event of the payment processor',
        description:
          'Accepts Stripe events with a `Stripe-Signature` over the raw body. The affected objects are fetched from the processor again, so the order and repetition of events don’t matter.',
        tags: ['Billing'],
        security: [],
        headers: webhookHeaders,
        body: webhookBody,
        response: { 200: receivedBody, ...problems(400, 408, 413) },
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
