import { Stripe } from 'stripe'
import { recordEvent } from './events.ts'
import { invalid } from './errors.ts'
import { mergeMetadata } from './customers.ts'
import { findObject, getObject, insertObject, listObjects, newId, saveObject } from './store.ts'
import type { Step } from './store.ts'

export interface ProductInput {
  id?: string | undefined
  name: string
  description?: string | undefined
  metadata?: Stripe.Metadata | undefined
}

export async function createProduct(step: Step, input: ProductInput): Promise<Stripe.Product> {
  const id = input.id ?? newId('prod')
  if ((await findObject(step.db, 'product', id)) !== null) {
    throw invalid(`Product already exists with id ${id}`, 'id', 'resource_already_exists')
  }
  const product = await insertObject(step, {
    id,
    object: 'product',
    active: true,
    created: step.second,
    default_price: null,
    description: input.description ?? null,
    images: [],
    livemode: false,
    marketing_features: [],
    metadata: input.metadata ?? {},
    name: input.name,
    package_dimensions: null,
    shippable: null,
    tax_code: null,
    tax_details: null,
    type: 'service',
    updated: step.second,
    url: null,
  } satisfies Stripe.Product)
  await recordEvent(step, 'product.created', product)
  return product
}

export interface PriceInput {
  product: string
  currency: string
  unit_amount?: number | undefined
  unit_amount_decimal?: string | undefined
  recurring?:
    | { interval: 'month'; usage_type?: 'metered' | 'licensed' | undefined; meter?: string | undefined }
    | undefined
  nickname?: string | undefined
  lookup_key?: string | undefined
  transfer_lookup_key?: boolean | undefined
  metadata?: Stripe.Metadata | undefined
}

export async function createPrice(step: Step, input: PriceInput): Promise<Stripe.Price> {
  await getObject(step.db, 'product', input.product, 'product')
  const usageType = input.recurring?.usage_type ?? 'licensed'
  if (usageType === 'metered' && input.recurring?.meter === undefined) {
    throw invalid('A metered price needs a meter.', 'recurring[meter]')
  }
  if (input.recurring?.meter !== undefined) {
    await getObject(step.db, 'billing.meter', input.recurring.meter, 'recurring[meter]')
  }
  const amount = input.unit_amount_decimal ?? input.unit_amount?.toString()
  if (amount === undefined) throw invalid('A price needs an amount.', 'unit_amount', 'parameter_missing')
  if (input.lookup_key !== undefined)
    await freeLookupKey(step, input.lookup_key, input.transfer_lookup_key === true)
  const price = await insertObject(step, {
    id: newId('price'),
    object: 'price',
    active: true,
    billing_scheme: 'per_unit',
    created: step.second,
    currency: input.currency,
    custom_unit_amount: null,
    livemode: false,
    lookup_key: input.lookup_key ?? null,
    metadata: input.metadata ?? {},
    nickname: input.nickname ?? null,
    product: input.product,
    recurring:
      input.recurring === undefined
        ? null
        : {
            interval: input.recurring.interval,
            interval_count: 1,
            meter: input.recurring.meter ?? null,
            trial_period_days: null,
            usage_type: usageType,
          },
    tax_behavior: 'unspecified',
    tiers_mode: null,
    transform_quantity: null,
    type: input.recurring === undefined ? 'one_time' : 'recurring',
    unit_amount: /^\d+$/.test(amount) ? Number(amount) : null,
    unit_amount_decimal: Stripe.Decimal.from(amount),
  } satisfies Stripe.Price)
  await recordEvent(step, 'price.created', price)
  return price
}

async function freeLookupKey(step: Step, key: string, transfers: boolean): Promise<void> {
  const [holder] = await listObjects(step.db, 'price', { lookupKeys: [key] })
  if (holder === undefined) return
  if (!transfers)
    throw invalid(`A price already uses the lookup key ${key}.`, 'lookup_key', 'resource_already_exists')
  const released = await saveObject(step, { ...holder, lookup_key: null })
  await recordEvent(step, 'price.updated', released)
}

export async function updatePrice(
  step: Step,
  id: string,
  input: {
    active?: boolean | undefined
    nickname?: string | undefined
    metadata?: Stripe.Metadata | undefined
  },
): Promise<Stripe.Price> {
  const price = await getObject(step.db, 'price', id)
  const updated = await saveObject(step, {
    ...price,
    active: input.active ?? price.active,
    nickname: input.nickname ?? price.nickname,
    metadata: mergeMetadata(price.metadata, input.metadata),
  })
  await recordEvent(step, 'price.updated', updated)
  return updated
}
