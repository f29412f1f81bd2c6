import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { Stripe } from 'stripe'
import type { Database, DatabaseTransaction } from '../../../database/tables.ts'
import { missing } from './errors.ts'

/** What the sandbox keeps, by Stripe's name of the type. Decimals come back from the database as strings. */
export interface ObjectTypes {
  customer: Stripe.Customer
  payment_method: Stripe.PaymentMethod
  setup_intent: Stripe.SetupIntent
  'checkout.session': Stripe.Checkout.Session
  'billing_portal.session': Stripe.BillingPortal.Session
  product: Stripe.Product
  price: Stripe.Price
  'billing.meter': Stripe.Billing.Meter
  subscription: Stripe.Subscription
  invoice: Stripe.Invoice
  invoiceitem: Stripe.InvoiceItem
}
export type ObjectType = keyof ObjectTypes
export type SandboxObject = ObjectTypes[ObjectType]

/** What every step of the sandbox works in: one transaction, at one moment. */
export interface Step {
  db: DatabaseTransaction
  now: Date
  /** `now` in whole seconds since 1970, as Stripe counts */
  second: number
  enqueueDelivery(db: DatabaseTransaction, eventId: string): Promise<void>
}

/** An id such as Stripe's: a prefix and 24 random characters. */
export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(18).toString('base64url').replaceAll(/[-_]/g, 'x')}`
}

export async function insertObject<T extends SandboxObject>(
  { db, now }: Step,
  object: T,
  dueAt: Date | null = null,
): Promise<T> {
  await db
    .insertInto('sandbox_objects')
    .values({
      id: object.id,
      type: object.object,
      customer_id: customerOf(object),
      data: JSON.stringify(object),
      created_at: now,
      due_at: dueAt,
    })
    .execute()
  return object
}

/** Writes an object back; `dueAt` left out keeps what the clock does with it next. */
export async function saveObject<T extends SandboxObject>(
  { db }: Step,
  object: T,
  dueAt?: Date | null,
): Promise<T> {
  await db
    .updateTable('sandbox_objects')
    .set({
      data: JSON.stringify(object),
      customer_id: customerOf(object),
      ...(dueAt === undefined ? {} : { due_at: dueAt }),
    })
    .where('id', '=', object.id)
    .execute()
  return object
}

function customerOf(object: SandboxObject): string | null {
  const { customer } = object as { customer?: string | null }
  return object.object === 'customer' ? object.id : (customer ?? null)
}

export async function findObject<T extends ObjectType>(
  db: Database,
  type: T,
  id: string,
): Promise<ObjectTypes[T] | null> {
  const row = await db
    .selectFrom('sandbox_objects')
    .select('data')
    .where('type', '=', type)
    .where('id', '=', id)
    .executeTakeFirst()
  return (row?.data as ObjectTypes[T] | undefined) ?? null
}

/** The object, or Stripe's answer to an unknown id. */
export async function getObject<T extends ObjectType>(
  db: Database,
  type: T,
  id: string,
  param = 'id',
  status: 400 | 404 = param === 'id' ? 404 : 400,
): Promise<ObjectTypes[T]> {
  const object = await findObject(db, type, id)
  if (object === null) throw missing(type, id, param, status)
  return object
}

export interface ObjectFilter {
  customer?: string | undefined
  /** What the object must contain, at the same places */
  contains?: object | undefined
  /** What it must not contain */
  lacks?: object | undefined
  lookupKeys?: string[] | undefined
  created?: { gt?: number; gte?: number; lt?: number; lte?: number } | undefined
}

/** Newest first; with `page`, one more than its limit, so that the caller sees whether more follow. */
export async function listObjects<T extends ObjectType>(
  db: Database,
  type: T,
  filter: ObjectFilter = {},
  page?: { limit: number; startingAfter?: string | undefined },
): Promise<ObjectTypes[T][]> {
  let query = db
    .selectFrom('sandbox_objects')
    .select('data')
    .where('type', '=', type)
    .orderBy('sequence', 'desc')
  if (filter.customer !== undefined) query = query.where('customer_id', '=', filter.customer)
  if (filter.contains !== undefined)
    query = query.where(sql<boolean>`data @> ${JSON.stringify(filter.contains)}::jsonb`)
  if (filter.lacks !== undefined)
    query = query.where(sql<boolean>`NOT data @> ${JSON.stringify(filter.lacks)}::jsonb`)
  if (filter.lookupKeys !== undefined)
    query = query.where(sql<boolean>`data->>'lookup_key' = ANY(${filter.lookupKeys})`)
  for (const [name, operator] of Object.entries(comparisons)) {
    const bound = filter.created?.[name as keyof typeof comparisons]
    if (bound !== undefined)
      query = query.where(sql<boolean>`(data->>'created')::bigint ${sql.raw(operator)} ${bound}`)
  }
  if (page !== undefined) {
    query = query.limit(page.limit + 1)
    if (page.startingAfter !== undefined) {
      const last = db.selectFrom('sandbox_objects').select('sequence').where('id', '=', page.startingAfter)
      query = query.where('sequence', '<', last)
    }
  }
  return (await query.execute()).map(({ data }) => data as ObjectTypes[T])
}

const comparisons = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const
