import { z } from 'zod'
import { requireCardOf } from '../cards.ts'
import { listEventRows, presentEvent } from '../events.ts'
import { summarizeUsage } from '../meters.ts'
import type { List, ObjectType, ObjectTypes } from '../object-types.ts'
import { getObject, listObjects } from '../objects.ts'
import type { ObjectFilter } from '../objects.ts'
import { present } from '../present.ts'
import { filled, paging, whole } from './parameters.ts'
import { readRoute } from './route.ts'
import type { ReadContext, ReadRoute } from './route.ts'

const none = z.strictObject({})

/** `GET <path>/:id` */
function getRoute(path: string, type: ObjectType): ReadRoute {
  return readRoute(`${path}/:id`, none, ({ db }, _input, { id }) => getObject(db, type, id))
}

interface PageParameters {
  limit: number
  starting_after?: string | undefined
}

async function listPage<T extends ObjectType>(
  { db, links }: ReadContext,
  url: string,
  type: T,
  filter: ObjectFilter,
  { limit, starting_after: startingAfter }: PageParameters,
): Promise<List<ObjectTypes[T]>> {
  if (filter.customer !== undefined) await getObject(db, 'customer', filter.customer, 'customer')
  const objects = await listObjects(db, type, filter, { limit, startingAfter })
  return toList(
    url,
    limit,
    objects.map((object) => present(object, links)),
  )
}

/** A page of `rows`, which hold one more row than `limit` if there are more. */
function toList<T>(url: string, limit: number, rows: T[]): List<T> {
  return { object: 'list', data: rows.slice(0, limit), has_more: rows.length > limit, url }
}

export const readRoutes: readonly ReadRoute[] = [
  getRoute('/v1/customers', 'customer'),
  readRoute(
    '/v1/customers/:id/payment_methods',
    z.strictObject({ type: z.literal('card').optional(), ...paging }),
    (context, input, { id }) =>
      listPage(context, `/v1/customers/${id}/payment_methods`, 'payment_method', { customer: id }, input),
  ),
  readRoute('/v1/customers/:id/payment_methods/:child', none, ({ db }, _input, { id, child }) =>
    requireCardOf(db, id, child, 'payment_method'),
  ),
  readRoute(
    '/v1/checkout/sessions/:id',
    z.strictObject({ expand: z.tuple([z.literal('setup_intent')]) }),
    async ({ db, links }, _input, { id }) => present(await getObject(db, 'checkout.session', id), links),
  ),
  getRoute('/v1/payment_methods', 'payment_method'),
  getRoute('/v1/products', 'product'),
  readRoute(
    '/v1/prices',
    z.strictObject({ active: z.literal('true'), type: z.literal('recurring').optional(), ...paging }),
    (context, input) => listPage(context, '/v1/prices', 'price', { contains: { active: true } }, input),
  ),
  readRoute(
    '/v1/billing/meters',
    z.strictObject({ status: z.literal('active').optional(), ...paging }),
    (context, input) => listPage(context, '/v1/billing/meters', 'billing.meter', {}, input),
  ),
  readRoute(
    '/v1/billing/meters/:id/event_summaries',
    z.strictObject({
      customer: filled,
      start_time: whole,
      end_time: whole,
      value_grouping_window: z.literal('hour').optional(),
      ...paging,
    }),
    async ({ db }, input, { id }) => {
      const summary = await summarizeUsage(db, await getObject(db, 'billing.meter', id), input)
      return toList(`/v1/billing/meters/${id}/event_summaries`, 1, [summary])
    },
  ),
  readRoute(
    '/v1/subscriptions',
    z.strictObject({ customer: filled.optional(), status: z.literal('all').optional(), ...paging }),
    (context, { customer, status, ...page }) => {
      const contains = status === 'all' ? {} : { ended_at: null }
      return listPage(context, '/v1/subscriptions', 'subscription', { customer, contains }, page)
    },
  ),
  readRoute(
    '/v1/invoices',
    z.strictObject({
      customer: filled.optional(),
      created: z.strictObject({ gte: whole }).optional(),
      ...paging,
    }),
    (context, { customer, created, ...page }) =>
      listPage(context, '/v1/invoices', 'invoice', { customer, createdSince: created?.gte }, page),
  ),
  readRoute('/v1/invoices/:id', none, async ({ db, links }, _input, { id }) =>
    present(await getObject(db, 'invoice', id), links),
  ),
  readRoute('/v1/invoices/:id/lines', z.strictObject({ ...paging }), async ({ db }, { limit }, { id }) => {
    const { lines } = await getObject(db, 'invoice', id)
    return toList(`/v1/invoices/${id}/lines`, limit, lines.data)
  }),
  readRoute(
    '/v1/events',
    z.strictObject({ created: z.strictObject({ gte: whole }), ...paging }),
    async ({ db, links }, { created, limit, starting_after: startingAfter }) => {
      const rows = await listEventRows(db, created.gte, { limit, startingAfter })
      return toList(
        '/v1/events',
        limit,
        rows.map((row) => presentEvent(row, links)),
      )
    },
  ),
]
