import type { Stripe } from 'stripe'
import { mergeMetadata } from './customers.ts'
import type { Metadata } from './customers.ts'
import { invalid } from './errors.ts'
import type { Price, Product, Wire } from './object-types.ts'
import { findObject, getObject, insertObject, listObjects, newId, saveObject } from './objects.ts'
import type { Change } from './store.ts'

export async function createProduct(
  change: Change,
  { id, name, metadata }: { id: string; name: string; metadata: Metadata },
): Promise<Product> {
  if ((await findObject(change.db, 'product', id)) !== null) {
    throw invalid(`Product already exists with id ${id}`, 'id', 'resource_already_exists')
  }
  return insertObject<Product>(change, {
    id,
    object: 'product',
    metadata: mergeMetadata({}, metadata),
    name,
  } satisfies Wire<Stripe.Product>)
}

export interface PriceInput {
  product: string
  currency: string
  unit_amount_decimal: string
  recurring: { meter: string }
  nickname: string
  lookup_key: string
  metadata: Metadata
}

/** Creates a metered monthly price, which takes its lookup key over from an older price. */
export async function createPrice(change: Change, input: PriceInput): Promise<Price> {
  await getObject(change.db, 'product', input.product, 'product')
  await getObject(change.db, 'billing.meter', input.recurring.meter, 'recurring[meter]')
  const [holder] = await listObjects(change.db, 'price', { contains: { lookup_key: input.lookup_key } })
  if (holder !== undefined) await saveObject(change, { ...holder, lookup_key: null })
  return insertObject<Price>(change, {
    id: newId('price'),
    object: 'price',
    active: true,
    currency: input.currency,
    lookup_key: input.lookup_key,
    metadata: mergeMetadata({}, input.metadata),
    nickname: input.nickname,
    product: input.product,
    recurring: { interval: 'month', meter: input.recurring.meter, usage_type: 'metered' },
    type: 'recurring',
    unit_amount_decimal: input.unit_amount_decimal,
  } satisfies Wire<Stripe.Price>)
}

export async function updatePrice(
  change: Change,
  id: string,
  { active, metadata }: { active?: boolean | undefined; metadata?: Metadata | undefined },
): Promise<Price> {
  const price = await getObject(change.db, 'price', id)
  return saveObject(change, {
    ...price,
    active: active ?? price.active,
    metadata: mergeMetadata(price.metadata, metadata),
  })
}
