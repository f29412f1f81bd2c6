import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { SandboxDatabase } from './database.ts'
import { missing } from './errors.ts'
import type { ObjectType, ObjectTypes, SandboxObject } from './object-types.ts'
import type { Change } from './store.ts'

/** An id in Stripe's form: a prefix and 24 random characters. */
export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(18).toString('base64url').replaceAll(/[-_]/g, 'x')}`
}

/** `dueAt`: time of the object's next scheduled step. */
export async function insertObject<T extends SandboxObject>(
  { db }: Change,
  object: T,
  dueAt: Date | null = null,
): Promise<T> {
  const row = { id: object.id, type: object.object, customer_id: customerOf(object), due_at: dueAt }
  await db
    .insertInto('objects')
    .values({ ...row, data: JSON.stringify(object) })
    .execute()
  return object
}

/** Stores an object's new state; without `dueAt` its next scheduled step is unchanged. */
export async function saveObject<T extends SandboxObject>(
  { db }: Change,
  object: T,
  dueAt?: Date | null,
): Promise<T> {
  await db
    .updateTable('objects')
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
  if (object.object === 'customer') return object.id
  return 'customer' in object ? object.customer : null
}

export async function findObject<T extends ObjectType>(
  db: SandboxDatabase,
  type: T,
  id: string,
): Promise<ObjectTypes[T] | null> {
  const row = await db
    .selectFrom('objects')
    .select('data')
    .where('type', '=', type)
    .where('id', '=', id)
    .executeTakeFirst()
  return (row?.data as ObjectTypes[T] | undefined) ?? null
}

/** Throws Stripe's error for an unknown id: 404 for the URL's, 400 for one in the parameter `param`. */
export async function getObject<T extends ObjectType>(
  db: SandboxDatabase,
  type: T,
  id: string,
  param = 'id',
): Promise<ObjectTypes[T]> {
  const object = await findObject(db, type, id)
  if (object === null) throw missing(type, id, param)
  return object
}

export interface ObjectFilter {
  customer?: string | undefined
  /** Fields and values that the object must have */
  contains?: object | undefined
  /** Seconds since 1970 */
  createdSince?: number | undefined
}

export interface Page {
  limit: number
  startingAfter?: string | undefined
}

/** Newest first. With `page`, one more than its limit, so the caller can tell whether there are more. */
export async function listObjects<T extends ObjectType>(
  db: SandboxDatabase,
  type: T,
  { customer, contains, createdSince }: ObjectFilter = {},
  page?: Page,
): Promise<ObjectTypes[T][]> {
  let query = db.selectFrom('objects').select('data').where('type', '=', type).orderBy('sequence', 'desc')
  if (customer !== undefined) query = query.where('customer_id', '=', customer)
  if (contains !== undefined) query = query.where(sql<boolean>`data @> ${JSON.stringify(contains)}::jsonb`)
  if (createdSince !== undefined)
    query = query.where(sql<number>`(data ->> 'created')::bigint`, '>=', createdSince)
  if (page !== undefined) query = query.limit(page.limit + 1)
  if (page?.startingAfter !== undefined) {
    const last = db.selectFrom('objects').select('sequence').where('id', '=', page.startingAfter)
    query = query.where('sequence', '<', last)
  }
  return (await query.execute()).map(({ data }) => data as ObjectTypes[T])
}
