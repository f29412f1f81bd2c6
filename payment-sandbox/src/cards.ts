import type { Stripe } from 'stripe'
import type { SandboxDatabase } from './database.ts'
import { invalid, missing, refused } from './errors.ts'
import type { Refusal } from './errors.ts'
import { recordEvent } from './events.ts'
import type { PaymentMethod, Wire } from './object-types.ts'
import { findObject, getObject, insertObject, listObjects, newId, saveObject } from './objects.ts'
import type { Change } from './store.ts'
import { findCardByToken, testCardOf } from './test-cards.ts'
import type { TestCard } from './test-cards.ts'

export const declined: Refusal = {
  code: 'card_declined',
  declineCode: 'generic_decline',
  message: 'Your card was declined.',
}
const expired: Refusal = {
  code: 'expired_card',
  declineCode: 'expired_card',
  message: 'Your card has expired.',
}
const needsApproval: Refusal = {
  code: 'authentication_required',
  declineCode: 'authentication_required',
  message: 'Your bank must approve each payment with this card.',
}

/** A card that is not attached to a customer yet. */
export function createCard(
  change: Change,
  { brand, fingerprint, number }: TestCard,
  { expMonth, expYear }: { expMonth: number; expYear: number },
  metadata: PaymentMethod['metadata'] = {},
): Promise<PaymentMethod> {
  return insertObject<PaymentMethod>(change, {
    id: newId('pm'),
    object: 'payment_method',
    allow_redisplay: 'unspecified',
    card: { brand, exp_month: expMonth, exp_year: expYear, fingerprint, last4: number.slice(-4) },
    customer: null,
    metadata,
    type: 'card',
  } satisfies Wire<Stripe.PaymentMethod>)
}

/** Attaches a payment method, or a new one for the id of a test card such as `pm_card_visa`. */
export async function attachCard(change: Change, id: string, customerId: string): Promise<PaymentMethod> {
  const testCard = findCardByToken(id)
  const card =
    testCard === null
      ? await getObject(change.db, 'payment_method', id, 'payment_method')
      : await createCard(change, testCard, { expMonth: 12, expYear: change.now.getUTCFullYear() + 3 })
  await getObject(change.db, 'customer', customerId, 'customer')
  if (card.customer === customerId) return card
  if (card.customer !== null) {
    throw invalid('The payment method is already attached to a customer.', 'payment_method')
  }
  if (testCardOf(card).setup === 'declines') throw refused(declined)
  const attached = await saveObject(change, { ...card, customer: customerId })
  await recordEvent(change, 'payment_method.attached', attached)
  return attached
}

/** Detaches a card for good, and clears it where it was the default. */
export async function detachCard(change: Change, id: string): Promise<PaymentMethod> {
  const card = await getObject(change.db, 'payment_method', id)
  if (card.customer === null) {
    throw invalid(
      'The payment method is not attached to a customer.',
      undefined,
      'payment_method_unexpected_state',
    )
  }
  const customer = await getObject(change.db, 'customer', card.customer)
  const detached = await saveObject(change, { ...card, customer: null })
  await recordEvent(change, 'payment_method.detached', card)
  if (customer.invoice_settings.default_payment_method === id) {
    const updated = { ...customer, invoice_settings: { default_payment_method: null } }
    await recordEvent(change, 'customer.updated', await saveObject(change, updated))
  }
  for (const subscription of await listObjects(change.db, 'subscription', { customer: customer.id })) {
    if (subscription.default_payment_method !== id) continue
    const updated = await saveObject(change, { ...subscription, default_payment_method: null })
    await recordEvent(change, 'customer.subscription.updated', updated)
  }
  return detached
}

/** Throws Stripe's error for a card that is unknown or belongs to another customer. */
export async function requireCardOf(
  db: SandboxDatabase,
  customerId: string,
  id: string,
  param: string,
): Promise<PaymentMethod> {
  const card = await findObject(db, 'payment_method', id)
  if (card === null || card.customer !== customerId) throw missing('PaymentMethod', id, param)
  return card
}

/** Why a charge is refused, or null. `approved`: the owner is present and the bank approves. */
export function checkCharge(card: PaymentMethod, now: Date, approved: boolean): Refusal | null {
  if (isExpired(card, now)) return expired
  const { charge } = testCardOf(card)
  if (charge === 'declines') return declined
  if (approved || charge === 'succeeds') return null
  return charge === 'needs_setup' && card.metadata.verified === 'yes' ? null : needsApproval
}

/** A card is valid until the end of its month. */
export function isExpired({ card }: PaymentMethod, now: Date): boolean {
  return now.getTime() >= Date.UTC(card.exp_year, card.exp_month, 1)
}
