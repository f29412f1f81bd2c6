import { z } from 'zod'
import type { Services } from '../../services.ts'
import type { App } from '../../http/app.ts'
import { noContent } from '../../http/openapi/responses.ts'
import { assertBillingOn, callProcessor } from './account/errors.ts'
import { createPortalSession, createSetupSession } from './processor/hosted-pages.ts'
import {
  detachPaymentMethod,
  listPaymentMethods,
  setDefaultPaymentMethod,
} from './processor/payment-methods.ts'
import {
  checkoutSessionBody,
  defaultPaymentMethodBody,
  invoicesBody,
  paymentMethodBody,
  paymentMethodsBody,
  portalSessionBody,
  portalUrlBody,
  setupSessionBody,
  toCheckoutSessionBody,
  toInvoiceBody,
  toPaymentMethodBody,
} from './schemas.ts'
import { ensureAccount } from './account/store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'payments'>

const tags = ['Billing']
const manage = { permission: 'manageBilling' } as const

/** Errors of every route that changes something at the payment processor. */
export const changeErrors = [
  'billing_off',
  'billing_change_in_progress',
  'payment_processor_unavailable',
] as const

/** The routes of saved cards, hosted pages and invoices. */
export function paymentRoutes(app: App, deps: Deps): void {
  const preHandler = async () => assertBillingOn(deps.config)
  app.get(
    '/v1/billing/payment-methods',
    {
      config: manage,
      schema: {
        operationId: 'listPaymentMethods',
        summary: 'List the saved cards of your current organization',
        tags,
        response: { 200: paymentMethodsBody },
        errors: ['payment_processor_unavailable'],
      },
    },
    async ({ viewer }) => (await listPaymentMethods(deps, viewer)).map(toPaymentMethodBody),
  )

  app.patch(
    '/v1/billing/payment-methods/default',
    {
      config: manage,
      preHandler,
      schema: {
        operationId: 'updateDefaultPaymentMethod',
        summary: 'Update the card that invoices are charged to',
        tags,
        body: defaultPaymentMethodBody,
        response: { 200: paymentMethodBody },
        errors: [...changeErrors, 'not_found'],
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
      preHandler,
      schema: {
        operationId: 'deletePaymentMethod',
        summary: 'Delete a saved card',
        description:
          'If the subscription is charged to the card, the newest other card takes its place. Without another card the next automatic charge fails.',
        tags,
        params: z.object({ payment_method_id: z.string().describe('Id of a saved card') }),
        response: { 204: noContent },
        errors: [...changeErrors, 'not_found'],
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
      preHandler,
      schema: {
        operationId: 'createPortalSession',
        summary: 'Create a session of the payment processor’s portal for cards and invoices',
        tags,
        body: portalSessionBody,
        response: { 200: portalUrlBody },
        errors: [...changeErrors],
      },
    },
    async ({ body, viewer }) => {
      return { url: await createPortalSession(deps, viewer, body.return_url) }
    },
  )

  app.post(
    '/v1/billing/checkout/setup-session',
    {
      config: manage,
      preHandler,
      schema: {
        operationId: 'createSetupSession',
        summary: 'Create a checkout session for saving a card',
        description:
          'With the purpose `postpaid_activation`, completing the checkout activates billing with the card. `activatePostpaid` may be called too.',
        tags,
        body: setupSessionBody,
        response: { 200: checkoutSessionBody },
        errors: [...changeErrors],
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
        description: 'Drafts and invoices of zero are omitted.',
        tags,
        response: { 200: invoicesBody },
        errors: ['payment_processor_unavailable'],
      },
    },
    async ({ viewer }) => {
      const { processor_customer_id: customerId } = await ensureAccount(
        deps.db,
        deps.config,
        viewer.organizationId,
        deps.clock(),
      )
      if (customerId === null) return []
      return (await callProcessor(deps.log, () => deps.payments.listInvoices(customerId))).map(toInvoiceBody)
    },
  )
}
