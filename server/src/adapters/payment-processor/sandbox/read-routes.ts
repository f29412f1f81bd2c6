import { Stripe } from 'stripe'
import { z } from 'zod'
import { missing } from './errors.ts'
import { eventColumns, listEventRows, toEvent } from './events.ts'
import { summarizeUsage } from './meters.ts'
import { filled, flag, paging, range, whole } from './parameters.ts'
import { requireOwnMethod } from './payment-methods.ts'
import { readRoute } from './route.ts'
import type { ReadRoute } from './route.ts'
import { getObject, listObjects } from './store.ts'
import type { ObjectFilter, ObjectType } from './store.ts'

const none = z.strictObject({})
const mostListed = 10

/** `GET /v1/<plural>/:id` */
function getRoute(path: string, type: ObjectType): ReadRoute {
  return readRoute(`${path}/:id`, none, ({ db }, _input, { id }) => getObject(db, type, id))
}

/** `GET /v1/<plural>`, newest first. */
function listRoute<Shape extends z.core.$ZodShape>(
  path: string,
  type: ObjectType,
  shape: Shape,
  toFilter: (input: z.output<z.ZodObject<Shape>>) => ObjectFilter,
): ReadRoute {
  return readRoute(path, z.strictObject({ ...shape, ...paging }), async ({ db }, input) => {
    const { limit = mostListed, starting_after: startingAfter } = input as {
      limit?: number
      starting_after?: string
    }
    const filter = toFilter(input as never)
    if (filter.customer !== undefined) await getObject(db, 'customer', filter.customer, 'customer')
    return toList(path, limit, await listObjects(db, type, filter, { limit, startingAfter }))
  })
}

function toList<T>(url: string, limit: number, rows: T[]): Stripe.ApiList<T> {
  return { object: 'list', data: rows.slice(0, limit), has_more: rows.length > limit, url }
}

const subscriptionStatus = z.enum([
  'incomplete',
  'incomplete_expired',
  'trialing',
  'active',
  'past_due',
  'canceled',
  'unpaid',
  'paused',
  'all',
])

export const readRoutes: readonly ReadRoute[] = [
  getRoute('/v1/customers', 'customer'),
  listRoute('/v1/customers', 'customer', { email: filled.optional() }, ({ email }) =>
    email === undefined ? {} : { contains: { email } },
  ),
  readRoute(
    '/v1/customers/:id/payment_methods',
    z.strictObject({ type: z.literal('card').optional(), ...paging }),
    async ({ db }, { limit = mostListed, starting_after: startingAfter }, { id }) => {
      await getObject(db, 'customer', id)
      const methods = await listObjects(db, 'payment_method', { customer: id }, { limit, startingAfter })
      return toList(`/v1/customers/${id}/payment_methods`, limit, methods)
    },
  ),
  readRoute('/v1/customers/:id/payment_methods/:child', none, async ({ db }, _input, { id, child }) => {
    await getObject(db, 'customer', id)
    return requireOwnMethod(db, id, child, 'payment_method', 404)
  }),
  getRoute('/v1/payment_methods', 'payment_method'),
  getRoute('/v1/setup_intents', 'setup_intent'),
  getRoute('/v1/checkout/sessions', 'checkout.session'),
  getRoute('/v1/products', 'product'),
  getRoute('/v1/prices', 'price'),
  listRoute(
    '/v1/prices',
    'price',
    {
      active: flag.optional(),
      product: filled.optional(),
      type: z.enum(['one_time', 'recurring']).optional(),
      lookup_keys: z.array(filled).max(10).optional(),
    },
    ({ active, product, type, lookup_keys: lookupKeys }) => ({
      contains: JSON.parse(JSON.stringify({ active, product, type })),
      lookupKeys,
    }),
  ),
  getRoute('/v1/billing/meters', 'billing.meter'),
  listRoute(
    '/v1/billing/meters',
    'billing.meter',
    { status: z.enum(['active', 'inactive']).optional() },
    ({ status }) => (status === undefined ? {} : { contains: { status } }),
  ),
  readRoute(
    '/v1/billing/meters/:id/event_summaries',
    z.strictObject({
      customer: filled,
      start_time: whole,
      end_time: whole,
      value_grouping_window: z.enum(['hour', 'day']).optional(),
      ...paging,
    }),
    async ({ db }, { limit = mostListed, starting_after: startingAfter, ...input }, { id }) => {
      const summaries = await summarizeUsage(db, await getObject(db, 'billing.meter', id), input)
      const from =
        startingAfter === undefined ? 0 : summaries.findIndex((each) => each.id === startingAfter) + 1
      return toList(
        `/v1/billing/meters/${id}/event_summaries`,
        limit,
        summaries.slice(from, from + limit + 1),
      )
    },
  ),
  getRoute('/v1/subscriptions', 'subscription'),
  listRoute(
    '/v1/subscriptions',
    'subscription',
    { customer: filled.optional(), status: subscriptionStatus.optional() },
    ({ customer, status }) => ({
      customer,
      ...(status === 'all'
        ? {}
        : status === undefined
          ? { lacks: { status: 'canceled' } }
          : { contains: { status } }),
    }),
  ),
  getRoute('/v1/invoices', 'invoice'),
  listRoute(
    '/v1/invoices',
    'invoice',
    {
      customer: filled.optional(),
      status: z.enum(['draft', 'open', 'paid', 'uncollectible', 'void']).optional(),
      created: range.optional(),
    },
    ({ customer, status, created }) => ({
      customer,
      created,
      ...(status === undefined ? {} : { contains: { status } }),
    }),
  ),
  readRoute('/v1/events/:id', none, async ({ db }, _input, { id }) => {
    const row = await db
      .selectFrom('sandbox_events')
      .select(eventColumns)
      .where('id', '=', id)
      .executeTakeFirst()
    if (row === undefined) throw missing('event', id, 'id')
    return toEvent(row, Stripe.API_VERSION)
  }),
  readRoute(
    '/v1/events',
    z.strictObject({
      type: filled.optional(),
      types: z.array(filled).max(20).optional(),
      created: range.optional(),
      ...paging,
    }),
    async ({ db }, { limit = mostListed, starting_after: startingAfter, ...filter }) => {
      const rows = await listEventRows(db, { ...filter, limit, startingAfter })
      return toList(
        '/v1/events',
        limit,
        rows.map((row) => toEvent(row, Stripe.API_VERSION)),
      )
    },
  ),
]
