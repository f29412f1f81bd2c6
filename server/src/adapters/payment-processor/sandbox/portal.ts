import type { Stripe } from 'stripe'
import { invalid } from './errors.ts'
import { recordEvent } from './events.ts'
import { getObject, insertObject, newId } from './store.ts'
import type { Step } from './store.ts'

/** Seconds in which the address of a portal session works. */
export const portalSeconds = 3600

export async function createPortalSession(
  step: Step,
  customerId: string,
  returnUrl: string | null,
): Promise<Stripe.BillingPortal.Session> {
  await getObject(step.db, 'customer', customerId, 'customer')
  if (returnUrl !== null && (!URL.canParse(returnUrl) || !/^https?:$/.test(new URL(returnUrl).protocol))) {
    throw invalid('Not a valid URL', 'return_url', 'url_invalid')
  }
  const session = await insertObject(step, {
    id: newId('bps'),
    object: 'billing_portal.session',
    after_expiration: null,
    configuration: 'bpc_sandbox',
    created: step.second,
    customer: customerId,
    customer_account: null,
    flow: null,
    livemode: false,
    locale: null,
    on_behalf_of: null,
    return_url: returnUrl,
    url: '',
  } satisfies Stripe.BillingPortal.Session)
  await recordEvent(step, 'billing_portal.session.created', session)
  return session
}
