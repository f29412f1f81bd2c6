import type { Stripe } from 'stripe'
import { requireCardOf } from './cards.ts'
import { invalid } from './errors.ts'
import { recordEvent } from './events.ts'
import type { Customer, Wire } from './object-types.ts'
import { getObject, insertObject, newId, saveObject } from './objects.ts'
import type { Change } from './store.ts'

export type Metadata = Record<string, string>

export interface CustomerInput {
  email?: string | undefined
  name?: string | undefined
  metadata?: Metadata | undefined
  invoice_settings?: { default_payment_method: string } | undefined
}

export async function createCustomer(
  change: Change,
  { metadata }: { metadata?: Metadata | undefined },
): Promise<Customer> {
  const id = newId('cus')
  const customer = await insertObject<Customer>(change, {
    id,
    object: 'customer',
    email: null,
    invoice_prefix: id.slice(-8).toUpperCase(),
    invoice_settings: { default_payment_method: null },
    metadata: mergeMetadata({}, metadata),
    name: null,
    next_invoice_sequence: 1,
  } satisfies Wire<Stripe.Customer>)
  await recordEvent(change, 'customer.created', customer)
  return customer
}

export async function updateCustomer(change: Change, id: string, input: CustomerInput): Promise<Customer> {
  const customer = await getObject(change.db, 'customer', id)
  const card = input.invoice_settings?.default_payment_method
  if (card !== undefined) {
    await requireCardOf(change.db, id, card, 'invoice_settings[default_payment_method]')
  }
  const updated = await saveObject(change, {
    ...customer,
    email: input.email ?? customer.email,
    name: input.name ?? customer.name,
    metadata: mergeMetadata(customer.metadata, input.metadata),
    invoice_settings: card === undefined ? customer.invoice_settings : { default_payment_method: card },
  })
  await recordEvent(change, 'customer.updated', updated)
  return updated
}

/** Adds and replaces keys; an empty value removes its key. */
export function mergeMetadata(old: Metadata, changes: Metadata = {}): Metadata {
  const merged = Object.entries({ ...old, ...changes }).filter(([, value]) => value !== '')
  if (merged.some(([key, value]) => key.length > 40 || value.length > 500)) {
    throw invalid('Metadata keys have at most 40 characters and values at most 500.', 'metadata')
  }
  return Object.fromEntries(merged)
}
