import { z } from 'zod'
import { attachCard, detachCard } from '../cards.ts'
import { createCustomer, updateCustomer } from '../customers.ts'
import { createMeter, createMeterEvent } from '../meters.ts'
import { createPrice, createProduct, updatePrice } from '../prices.ts'
import { createCheckoutSession, createPortalSession } from '../sessions.ts'
import { cancelSubscription, createSubscription, updateSubscription } from '../subscriptions.ts'
import { currency, decimal, filled, metadata, text, whole } from './parameters.ts'
import { writeRoute } from './route.ts'
import type { WriteRoute } from './route.ts'

const none = z.strictObject({})

const upTo = (max: number) => whole.pipe(z.number().max(max))
const anchorConfig = z.strictObject({
  day_of_month: whole.pipe(z.number().min(1).max(31)),
  hour: upTo(23),
  minute: upTo(59),
  second: upTo(59),
})
const removedItem = z.strictObject({ id: filled, deleted: z.literal('true').transform(() => true as const) })

/** Strict schemas: a parameter or value that Berth does not send is an error. */
export const writeRoutes: readonly WriteRoute[] = [
  writeRoute('POST', '/v1/customers', z.strictObject({ metadata: metadata.optional() }), createCustomer),
  writeRoute(
    'POST',
    '/v1/customers/:id',
    z.strictObject({
      email: text.optional(),
      name: text.optional(),
      metadata: metadata.optional(),
      invoice_settings: z.strictObject({ default_payment_method: filled }).optional(),
    }),
    (change, input, id) => updateCustomer(change, id, input),
  ),

  writeRoute(
    'POST',
    '/v1/payment_methods/:id/attach',
    z.strictObject({ customer: filled }),
    (change, { customer }, id) => attachCard(change, id, customer),
  ),
  writeRoute('POST', '/v1/payment_methods/:id/detach', none, (change, _input, id) => detachCard(change, id)),

  writeRoute(
    'POST',
    '/v1/checkout/sessions',
    z.strictObject({
      mode: z.literal('setup'),
      ui_mode: z.literal('embedded_page'),
      customer: filled,
      currency,
      return_url: filled,
      metadata: metadata.optional(),
      setup_intent_data: z.strictObject({ metadata: metadata.optional() }).optional(),
    }),
    createCheckoutSession,
  ),
  writeRoute(
    'POST',
    '/v1/billing_portal/sessions',
    z.strictObject({ customer: filled, return_url: filled }),
    createPortalSession,
  ),

  writeRoute('POST', '/v1/products', z.strictObject({ id: filled, name: filled, metadata }), createProduct),
  writeRoute(
    'POST',
    '/v1/prices',
    z.strictObject({
      product: filled,
      currency,
      unit_amount_decimal: decimal,
      recurring: z.strictObject({
        interval: z.literal('month'),
        usage_type: z.literal('metered'),
        meter: filled,
      }),
      nickname: text,
      lookup_key: filled.max(200),
      transfer_lookup_key: z.literal('true'),
      metadata,
    }),
    createPrice,
  ),
  writeRoute(
    'POST',
    '/v1/prices/:id',
    z.strictObject({
      active: z
        .enum(['true', 'false'])
        .transform((word) => word === 'true')
        .optional(),
      metadata: metadata.optional(),
    }),
    (change, input, id) => updatePrice(change, id, input),
  ),

  writeRoute(
    'POST',
    '/v1/billing/meters',
    z.strictObject({
      display_name: filled,
      event_name: filled.max(100),
      default_aggregation: z.strictObject({ formula: z.literal('sum') }),
      customer_mapping: z
        .strictObject({ type: z.literal('by_id'), event_payload_key: z.literal('stripe_customer_id') })
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

  writeRoute(
    'POST',
    '/v1/subscriptions',
    z.strictObject({
      customer: filled,
      items: z.array(z.strictObject({ price: filled })),
      billing_cycle_anchor_config: anchorConfig.optional(),
      collection_method: z.literal('charge_automatically').optional(),
      default_payment_method: filled,
      metadata: metadata.optional(),
      off_session: z.literal('true').optional(),
      payment_behavior: z.literal('error_if_incomplete').optional(),
    }),
    createSubscription,
  ),
  writeRoute(
    'POST',
    '/v1/subscriptions/:id',
    z.strictObject({
      items: z.array(z.union([z.strictObject({ price: filled }), removedItem])).optional(),
      collection_method: z.enum(['charge_automatically', 'send_invoice']).optional(),
      days_until_due: whole.pipe(z.number().max(730)).optional(),
      default_payment_method: filled.optional(),
      metadata: metadata.optional(),
      proration_behavior: z.literal('none').optional(),
    }),
    (change, input, id) => updateSubscription(change, id, input),
  ),
  writeRoute(
    'DELETE',
    '/v1/subscriptions/:id',
    z.strictObject({ invoice_now: z.literal('true').optional() }),
    (change, input, id) => cancelSubscription(change, id, input.invoice_now !== undefined),
  ),
]
