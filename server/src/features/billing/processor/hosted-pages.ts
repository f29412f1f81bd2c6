import type { Services } from '../../../services.ts'
import type { SetupSession } from '../../../ports/payment-processor.ts'
import type { Viewer } from '../../../base/viewer.ts'
import { recordAction } from '../../audit/record-action.ts'
import { insertActivationCheckout } from './activation-checkouts.ts'
import { withLease } from '../account/account-lease.ts'
import { ensureCustomer } from './customer.ts'
import { callProcessor } from '../account/errors.ts'
import { applySubscription } from './sync-account.ts'
import { ensureAccount } from '../account/store.ts'

type Deps = Pick<Services, 'db' | 'config' | 'clock' | 'log' | 'payments'>

/** Creates a checkout session: a page at the processor for saving a card, which can also activate billing. */
export async function createSetupSession(
  deps: Deps,
  viewer: Viewer,
  setup: { purpose: 'payment_method_setup' | 'postpaid_activation'; returnUrl: string | undefined },
): Promise<SetupSession> {
  const { config, log, payments } = deps
  const { accountId, customerId, currency } = await prepareCustomer(deps, viewer)
  // The processor replaces the placeholder with the session's id.
  const fallback = `${new URL('/billing', config.publicUrl).href}?checkout_session={CHECKOUT_SESSION_ID}`
  const session = await callProcessor(log, () =>
    payments.createSetupSession({
      customerId,
      organizationId: viewer.organizationId,
      currency,
      purpose: setup.purpose,
      returnUrl: setup.returnUrl ?? fallback,
    }),
  )
  if (setup.purpose === 'postpaid_activation') {
    await insertActivationCheckout(deps.db, {
      sessionId: session.id,
      accountId,
      userId: viewer.userId,
      at: deps.clock(),
    })
  }
  await recordAction(deps.db, viewer, 'checkout.started', { details: { purpose: setup.purpose } })
  return session
}

/** Returns the URL of a page at the processor for managing cards and invoices. */
export async function createPortalSession(
  deps: Deps,
  viewer: Viewer,
  returnUrl: string | undefined,
): Promise<string> {
  const { config, log, payments } = deps
  const { customerId } = await prepareCustomer(deps, viewer)
  const fallback = new URL('/billing', config.publicUrl).href
  const url = await callProcessor(log, () => payments.createPortalSession(customerId, returnUrl ?? fallback))
  await recordAction(deps.db, viewer, 'billing_portal.opened')
  return url
}

async function prepareCustomer(
  deps: Deps,
  viewer: Viewer,
): Promise<{ accountId: number; customerId: string; currency: string }> {
  const { db, config, clock } = deps
  const { id, currency } = await ensureAccount(db, config, viewer.organizationId, clock())
  const customerId = await withLease(deps, id, async (account, lease) => {
    const { processor_customer_id: known } = account
    const current = await ensureCustomer(deps, account, viewer)
    // The subscription of the replaced customer is no longer charged.
    if (known !== null && known !== current) await applySubscription(deps, lease, null)
    return current
  })
  return { accountId: id, customerId, currency }
}
