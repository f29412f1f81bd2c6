import type { Stripe } from 'stripe'
import { invalid } from './errors.ts'
import { recordEvent } from './events.ts'
import type { CheckoutSession, PortalSession, Wire } from './object-types.ts'
import { getObject, insertObject, newId, saveObject } from './objects.ts'
import type { Change } from './store.ts'

const checkoutSeconds = 24 * 3600
/** How long the link to the portal works. */
export const portalSeconds = 3600

/** A session in which a person saves a card on the checkout page. */
export async function createCheckoutSession(
  change: Change,
  input: { customer: string; return_url: string; metadata?: Record<string, string> | undefined },
): Promise<CheckoutSession> {
  await getObject(change.db, 'customer', input.customer, 'customer')
  requireWebUrl(input.return_url.replaceAll('{CHECKOUT_SESSION_ID}', 'id'))
  const expiresAt = change.second + checkoutSeconds
  const session: CheckoutSession = {
    id: newId('cs_test'),
    object: 'checkout.session',
    client_secret: null,
    customer: input.customer,
    expires_at: expiresAt,
    metadata: input.metadata ?? {},
    mode: 'setup',
    payment_status: 'no_payment_required',
    return_url: input.return_url,
    setup_intent: null,
    status: 'open',
  } satisfies Wire<Stripe.Checkout.Session>
  return insertObject(change, session, new Date(expiresAt * 1000))
}

export async function completeSession(
  change: Change,
  session: CheckoutSession,
  cardId: string,
): Promise<void> {
  const setupIntent = {
    id: newId('seti'),
    object: 'setup_intent' as const,
    payment_method: cardId,
  } satisfies Wire<Stripe.SetupIntent>
  const completed = await saveObject(
    change,
    { ...session, setup_intent: setupIntent, status: 'complete' as const },
    null,
  )
  await recordEvent(change, 'checkout.session.completed', completed)
}

export async function expireSession(change: Change, session: CheckoutSession): Promise<void> {
  const expired = await saveObject(change, { ...session, status: 'expired' as const }, null)
  await recordEvent(change, 'checkout.session.expired', expired)
}

export async function createPortalSession(
  change: Change,
  input: { customer: string; return_url: string },
): Promise<PortalSession> {
  await getObject(change.db, 'customer', input.customer, 'customer')
  requireWebUrl(input.return_url)
  return insertObject<PortalSession>(change, {
    id: newId('bps'),
    object: 'billing_portal.session',
    created: change.second,
    customer: input.customer,
    return_url: input.return_url,
    url: '',
  } satisfies Wire<Stripe.BillingPortal.Session>)
}

function requireWebUrl(url: string): void {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw invalid('Not a valid URL', 'return_url', 'url_invalid')
  }
}
