import { z } from 'zod'
import { createCustomer, updateCustomer } from './customers.ts'
import { invoiceRoutes } from './invoice-routes.ts'
import { createMeter, createMeterEvent } from './meters.ts'
import { currency, decimal, filled, flag, metadata, text, whole } from './parameters.ts'
import { attachMethod, checkSetup, createMethod, detachMethod, findOrMakeMethod } from './payment-methods.ts'
import { createPortalSession } from './portal.ts'
import { createPrice, createProduct, updatePrice } from './prices.ts'
import { confirmSetupIntent, createSetupIntent, createSetupSession, expireSession } from './setup.ts'
import { getObject } from './store.ts'
import { cancelSubscription, createSubscription, updateSubscription } from './subscriptions.ts'
import { findCardByToken } from './test-cards.ts'
import { invalid, refused } from './errors.ts'
import { Refused, writeRoute } from './route.ts'
import type { WriteRoute } from './route.ts'

const none = z.strictObject({})
const invoiceSettings = z.strictObject({ default_payment_method: text.optional() })
const customerFields = {
  email: text.optional(),
  name: text.optional(),
  description: text.optional(),
  metadata: metadata.optional(),
  invoice_settings: invoiceSettings.optional(),
}

const customerRoutes = [
  writeRoute(
    'POST',
    '/v1/customers',
    z.strictObject({ ...customerFields, payment_method: filled.optional() }),
    createCustomer,
  ),
  writeRoute('POST', '/v1/customers/:id', z.strictObject(customerFields), (step, input, id) =>
    updateCustomer(step, id, input),
  ),
]

const cardRoutes = [
  writeRoute(
    'POST',
    '/v1/payment_methods',
    z.strictObject({
      type: z.literal('card'),
      card: z.strictObject({ token: filled }),
      billing_details: z.strictObject({ name: text.optional(), email: text.optional() }).optional(),
    }),
    async (step, { card, billing_details: owner }) => {
      const known = findCardByToken(card.token)
      if (known === null) throw invalid(`No such token: '${card.token}'`, 'card[token]', 'resource_missing')
      const expYear = step.now.getUTCFullYear() + 3
      return createMethod(step, known, {
        expMonth: 12,
        expYear,
        name: owner?.name ?? null,
        email: owner?.email ?? null,
      })
    },
  ),
  writeRoute(
    'POST',
    '/v1/payment_methods/:id/attach',
    z.strictObject({ customer: filled }),
    (step, { customer }, id) => attachMethod(step, id, customer),
  ),
  writeRoute('POST', '/v1/payment_methods/:id/detach', none, (step, _input, id) => detachMethod(step, id)),
  writeRoute(
    'POST',
    '/v1/setup_intents',
    z.strictObject({
      customer: filled.optional(),
      description: text.optional(),
      metadata: metadata.optional(),
      payment_method: filled.optional(),
      payment_method_types: z.array(z.literal('card')).optional(),
      confirm: flag.optional(),
    }),
    async (step, { payment_method: methodId, confirm, ...input }) => {
      const intent = await createSetupIntent(step, input)
      if (confirm !== true || methodId === undefined) return intent
      const method = await findOrMakeMethod(step, methodId)
      const confirmed = await confirmSetupIntent(step, intent, method, null)
      const verdict = checkSetup(step, method)
      return verdict === null || verdict === 'asks' ? confirmed : new Refused(refused(verdict))
    },
  ),
]

const checkoutRoutes = [
  writeRoute(
    'POST',
    '/v1/checkout/sessions',
    z.strictObject({
      mode: z.literal('setup'),
      ui_mode: z.literal('embedded_page'),
      customer: filled,
      currency,
      return_url: filled,
      expires_at: whole.optional(),
      metadata: metadata.optional(),
      setup_intent_data: z.strictObject({ metadata: metadata.optional() }).optional(),
    }),
    (step, input) =>
      createSetupSession(step, {
        customer: input.customer,
        currency: input.currency,
        returnUrl: input.return_url,
        metadata: input.metadata,
        setupMetadata: input.setup_intent_data?.metadata,
        expiresAt: input.expires_at,
      }),
  ),
  writeRoute('POST', '/v1/checkout/sessions/:id/expire', none, async (step, _input, id) =>
    expireSession(step, await getObject(step.db, 'checkout.session', id)),
  ),
  writeRoute(
    'POST',
    '/v1/billing_portal/sessions',
    z.strictObject({ customer: filled, return_url: filled.optional() }),
    (step, { customer, return_url: returnUrl }) => createPortalSession(step, customer, returnUrl ?? null),
  ),
]

const priceRoutes = [
  writeRoute(
    'POST',
    '/v1/products',
    z.strictObject({
      id: filled.optional(),
      name: filled,
      description: text.optional(),
      metadata: metadata.optional(),
    }),
    createProduct,
  ),
  writeRoute(
    'POST',
    '/v1/prices',
    z.strictObject({
      product: filled,
      currency,
      unit_amount: whole.optional(),
      unit_amount_decimal: decimal.optional(),
      recurring: z
        .strictObject({
          interval: z.literal('month'),
          usage_type: z.enum(['metered', 'licensed']).optional(),
          meter: filled.optional(),
        })
        .optional(),
      nickname: text.optional(),
      lookup_key: filled.max(200).optional(),
      transfer_lookup_key: flag.optional(),
      metadata: metadata.optional(),
    }),
    createPrice,
  ),
  writeRoute(
    'POST',
    '/v1/prices/:id',
    z.strictObject({ active: flag.optional(), nickname: text.optional(), metadata: metadata.optional() }),
    (step, input, id) => updatePrice(step, id, input),
  ),
  writeRoute(
    'POST',
    '/v1/billing/meters',
    z.strictObject({
      display_name: filled,
      event_name: filled.max(100),
      default_aggregation: z.strictObject({ formula: z.literal('sum') }),
      customer_mapping: z
        .strictObject({
          type: z.literal('by_id'),
          event_payload_key: z.literal('stripe_customer_id'),
        })
        .optional(),
      value_settings: z.strictObject({ event_payload_key: z.literal('value') }).optional(),
    }),
    createMeter,
  ),
  writeRoute(
    'POST',
    '/v1/billing/meter_events',
    z.strictObject({
      event_name: filled.max(100),
      identifier: filled.max(100),
      timestamp: whole,
      payload: z.strictObject({
        stripe_customer_id: filled,
        value: z.string().regex(/^\d{1,15}$/, 'The value must be a whole number'),
      }),
    }),
    createMeterEvent,
  ),
]

const item = z.strictObject({ price: filled, quantity: whole.optional() })
const subscriptionFields = {
  collection_method: z.enum(['charge_automatically', 'send_invoice']).optional(),
  days_until_due: whole.pipe(z.number().max(730)).optional(),
  default_payment_method: text.optional(),
  metadata: metadata.optional(),
}

const subscriptionRoutes = [
  writeRoute(
    'POST',
    '/v1/subscriptions',
    z.strictObject({
      ...subscriptionFields,
      customer: filled,
      items: z.array(item).min(1).max(20),
      off_session: flag.optional(),
      payment_behavior: z.enum(['allow_incomplete', 'default_incomplete', 'error_if_incomplete']).optional(),
    }),
    createSubscription,
  ),
  writeRoute(
    'POST',
    '/v1/subscriptions/:id',
    z.strictObject({
      ...subscriptionFields,
      cancel_at_period_end: flag.optional(),
      proration_behavior: z.literal('none').optional(),
      items: z
        .array(
          z.strictObject({
            id: filled.optional(),
            price: filled.optional(),
            quantity: whole.optional(),
            deleted: flag.optional(),
          }),
        )
        .max(20)
        .optional(),
    }),
    (step, input, id) => updateSubscription(step, id, input),
  ),
  writeRoute('DELETE', '/v1/subscriptions/:id', none, (step, _input, id) => cancelSubscription(step, id)),
]

export const writeRoutes: readonly WriteRoute[] = [
  ...customerRoutes,
  ...cardRoutes,
  ...checkoutRoutes,
  ...priceRoutes,
  ...subscriptionRoutes,
  ...invoiceRoutes,
]
