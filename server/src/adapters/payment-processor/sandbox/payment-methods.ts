import type { Stripe } from 'stripe'
import { sql } from 'kysely'
import type { Database } from '../../../database/tables.ts'
import { recordEvent } from './events.ts'
import { invalid, missing, refused } from './errors.ts'
import type { Refusal } from './errors.ts'
import { findObject, getObject, insertObject, listObjects, newId, saveObject } from './store.ts'
import type { Step } from './store.ts'
import { findCardByToken, testCardOf } from './test-cards.ts'
import type { TestCard } from './test-cards.ts'

const declined: Refusal = {
  code: 'card_declined',
  declineCode: 'generic_decline',
  message: 'Your card was declined.',
}
const expired: Refusal = {
  code: 'expired_card',
  declineCode: 'expired_card',
  message: 'Your card has expired.',
}
export const needsConsent: Refusal = {
  code: 'authentication_required',
  declineCode: 'authentication_required',
  message: 'Your card was declined. This payment requires your consent at your bank.',
}

/** A card that belongs to nobody yet. */
export function createMethod(
  step: Step,
  card: TestCard,
  details: {
    expMonth: number
    expYear: number
    name?: string | null
    email?: string | null
    metadata?: Stripe.Metadata
  },
): Promise<Stripe.PaymentMethod> {
  return insertObject(step, {
    id: newId('pm'),
    object: 'payment_method',
    allow_redisplay: 'unspecified',
    billing_details: {
      address: null,
      email: details.email ?? null,
      name: details.name ?? null,
      phone: null,
      tax_id: null,
    },
    card: {
      brand: card.brand,
      checks: { address_line1_check: null, address_postal_code_check: null, cvc_check: 'pass' },
      country: 'US',
      display_brand: card.brand,
      exp_month: details.expMonth,
      exp_year: details.expYear,
      fingerprint: card.fingerprint,
      funding: 'credit',
      generated_from: null,
      last4: card.number.slice(-4),
      networks: { available: [card.brand], preferred: null },
      regulated_status: 'unregulated',
      three_d_secure_usage: { supported: true },
      wallet: null,
    },
    created: step.second,
    customer: null,
    customer_account: null,
    livemode: false,
    metadata: details.metadata ?? {},
    type: 'card',
  } satisfies Stripe.PaymentMethod)
}

/** A payment method by its id, or a new one for an id that stands for a test card, such as `pm_card_visa`. */
export async function findOrMakeMethod(step: Step, id: string): Promise<Stripe.PaymentMethod> {
  const card = findCardByToken(id)
  if (card === null) return getObject(step.db, 'payment_method', id, 'payment_method')
  return createMethod(step, card, { expMonth: 12, expYear: step.now.getUTCFullYear() + 3 })
}

export async function attachMethod(
  step: Step,
  id: string,
  customerId: string,
): Promise<Stripe.PaymentMethod> {
  const method = await findOrMakeMethod(step, id)
  await getObject(step.db, 'customer', customerId, 'customer')
  if (method.customer === customerId) return method
  if (method.customer !== null) {
    throw invalid('The payment method is already attached to a customer.', 'payment_method')
  }
  if (testCardOf(method).setup === 'declines') throw refused(declined)
  const attached = await saveObject(step, { ...method, customer: customerId })
  await recordEvent(step, 'payment_method.attached', attached)
  return attached
}

/** Takes a card off its customer for good, and off whatever it was the default of. */
export async function detachMethod(step: Step, id: string): Promise<Stripe.PaymentMethod> {
  const method = await getObject(step.db, 'payment_method', id, 'id')
  const customerId = method.customer as string | null
  if (customerId === null) {
    throw invalid(
      'The payment method is not attached to a customer, so that it can’t be detached.',
      undefined,
      'payment_method_unexpected_state',
    )
  }
  const detached = await saveObject(step, { ...method, customer: null })
  await recordEvent(step, 'payment_method.detached', method)
  const customer = await getObject(step.db, 'customer', customerId)
  if (customer.invoice_settings.default_payment_method === id) {
    const updated = {
      ...customer,
      invoice_settings: { ...customer.invoice_settings, default_payment_method: null },
    }
    await recordEvent(step, 'customer.updated', await saveObject(step, updated))
  }
  for (const subscription of await listObjects(step.db, 'subscription', { customer: customerId })) {
    if (subscription.default_payment_method !== id) continue
    const updated = await saveObject(step, { ...subscription, default_payment_method: null })
    await recordEvent(step, 'customer.subscription.updated', updated)
  }
  return detached
}

/** A customer's own payment method, or Stripe's answer to anything else. */
export async function requireOwnMethod(
  db: Database,
  customerId: string,
  id: string,
  param: string,
  status: 400 | 404 = 400,
): Promise<Stripe.PaymentMethod> {
  const method = await findObject(db, 'payment_method', id)
  if (method === null || method.customer !== customerId) throw missing('PaymentMethod', id, param, status)
  return method
}

/** What a charge to the card would say; null where it goes through. `withOwner`: its owner is there and consents. */
export async function checkCharge(
  step: Step,
  method: Stripe.PaymentMethod,
  withOwner: boolean,
): Promise<Refusal | null> {
  if (isExpired(method, step.now)) return expired
  const { charge } = testCardOf(method)
  if (charge === 'declines') return declined
  if (withOwner || charge === 'succeeds') return null
  if (charge === 'needs_setup' && (await wasSetUp(step.db, method.id))) return null
  return needsConsent
}

/** What saving the card says: null where it is saved, `asks` where its owner must consent first. */
export function checkSetup(step: Step, method: Stripe.PaymentMethod): Refusal | 'asks' | null {
  if (isExpired(method, step.now)) return expired
  const { setup } = testCardOf(method)
  return setup === 'declines' ? declined : setup === 'asks' ? 'asks' : null
}

/** A card is good to the end of its month. */
export function isExpired({ card }: Stripe.PaymentMethod, now: Date): boolean {
  return card !== undefined && now.getTime() >= Date.UTC(card.exp_year, card.exp_month, 1)
}

async function wasSetUp(db: Database, methodId: string): Promise<boolean> {
  const intent = await db
    .selectFrom('sandbox_objects')
    .select('id')
    .where('type', '=', 'setup_intent')
    .where(sql<boolean>`data @> ${JSON.stringify({ payment_method: methodId, status: 'succeeded' })}::jsonb`)
    .executeTakeFirst()
  return intent !== undefined
}
