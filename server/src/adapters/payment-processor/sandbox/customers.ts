import type { Stripe } from 'stripe'
import { recordEvent } from './events.ts'
import { invalid } from './errors.ts'
import { attachMethod, findOrMakeMethod, requireOwnMethod } from './payment-methods.ts'
import { getObject, insertObject, newId, saveObject } from './store.ts'
import type { Step } from './store.ts'

export interface CustomerInput {
  email?: string | undefined
  name?: string | undefined
  description?: string | undefined
  metadata?: Record<string, string> | undefined
  payment_method?: string | undefined
  invoice_settings?: { default_payment_method?: string | undefined } | undefined
}

export async function createCustomer(step: Step, input: CustomerInput): Promise<Stripe.Customer> {
  const id = newId('cus')
  const customer = await insertObject(step, {
    id,
    object: 'customer',
    balance: 0,
    created: step.second,
    currency: null,
    default_source: null,
    delinquent: false,
    description: input.description ?? null,
    email: input.email ?? null,
    invoice_prefix: id.slice(-8).toUpperCase(),
    invoice_settings: {
      custom_fields: null,
      default_payment_method: null,
      footer: null,
      rendering_options: null,
    },
    livemode: false,
    metadata: input.metadata ?? {},
    name: input.name ?? null,
    next_invoice_sequence: 1,
    phone: null,
    preferred_locales: [],
    shipping: null,
    tax_exempt: 'none',
    test_clock: null,
  } satisfies Stripe.Customer)
  await recordEvent(step, 'customer.created', customer)
  const made =
    input.payment_method === undefined
      ? null
      : await attachMethod(step, (await findOrMakeMethod(step, input.payment_method)).id, id)
  const wanted = input.invoice_settings?.default_payment_method
  if (wanted === undefined) return customer
  // A ready-made method named twice in one request is one card.
  const isSame = made !== null && wanted === input.payment_method
  return setDefault(step, customer, isSame ? made.id : wanted)
}

export async function updateCustomer(
  step: Step,
  id: string,
  input: Omit<CustomerInput, 'payment_method'>,
): Promise<Stripe.Customer> {
  const found = await getObject(step.db, 'customer', id)
  const customer = {
    ...found,
    email: input.email ?? found.email,
    name: input.name ?? found.name ?? null,
    description: input.description ?? found.description,
    metadata: mergeMetadata(found.metadata, input.metadata),
  }
  const card = input.invoice_settings?.default_payment_method
  if (card !== undefined) return setDefault(step, customer, card)
  await recordEvent(step, 'customer.updated', await saveObject(step, customer))
  return customer
}

async function setDefault(step: Step, customer: Stripe.Customer, cardId: string): Promise<Stripe.Customer> {
  if (cardId !== '') {
    await requireOwnMethod(step.db, customer.id, cardId, 'invoice_settings[default_payment_method]')
  }
  const updated = {
    ...customer,
    invoice_settings: { ...customer.invoice_settings, default_payment_method: cardId === '' ? null : cardId },
  }
  await recordEvent(step, 'customer.updated', await saveObject(step, updated))
  return updated
}

/** Keys with an empty value are removed, others are added or replaced. */
export function mergeMetadata(
  old: Stripe.Metadata | null,
  changes: Record<string, string> | undefined,
): Stripe.Metadata {
  const merged = { ...old, ...changes }
  for (const [key, value] of Object.entries(merged)) {
    if (value === '') delete merged[key]
    if (key.length > 40 || value.length > 500) {
      throw invalid('Metadata takes keys of 40 and values of 500 characters at most.', 'metadata')
    }
  }
  return merged
}
