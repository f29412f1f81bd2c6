import type { Services } from '../../services.ts'
import type { SetupSession } from '../../ports/payment-processor.ts'
import type { Viewer } from '../../viewer.ts'
import { withLease } from './account-lease.ts'
import { ensureCustomer } from './customer.ts'
import { callProcessor } from './errors.ts'
import { applySubscription } from './sync-account.ts'
import { ensureAccount } from './store.ts'

type Deps = Pick<Services, 'db' | 'config' | 'clock' | 'log' | 'payments'>

/** Opens a page of the processor's on which a person saves a card. */
export async function createSetupSession(
  application: Deps,
  viewer: Viewer,
  setup: { purpose: 'payment_method_setup' | 'postpaid_activation'; returnUrl: string | undefined },
): Promise<SetupSession> {
  const { config, log, payments } = application
  const { customerId, currency } = await findCustomer(application, viewer)
  // The processor puts the session's id in the place of the words in braces.
  const fallback = `${new URL('/billing', config.publicUrl).href}?checkout_session={CHECKOUT_SESSION_ID}`
  return callProcessor(log, () =>
    payments.createSetupSession({
      customerId,
      organizationId: viewer.organizationId,
      currency,
      purpose: setup.purpose,
      returnUrl: setup.returnUrl ?? fallback,
    }),
  )
}

/** The address of a page of the processor's on which a customer looks after cards and invoices. */
export async function createPortalSession(
  application: Deps,
  viewer: Viewer,
  returnUrl: string | undefined,
): Promise<string> {
  const { config, log, payments } = application
  const { customerId } = await findCustomer(application, viewer)
  const fallback = new URL('/billing', config.publicUrl).href
  return callProcessor(log, () => payments.createPortalSession(customerId, returnUrl ?? fallback))
}

async function findCustomer(
  application: Deps,
  viewer: Viewer,
): Promise<{ customerId: string; currency: string }> {
  const { db, config, clock } = application
  const { id, currency } = await ensureAccount(db, config, viewer.organizationId, clock())
  const customerId = await withLease(application, id, async (account, lease) => {
    const { processor_customer_id: known } = account
    const current = await ensureCustomer(application, account, viewer)
    // What another customer was subscribed to nobody is charged for any more.
    if (known !== null && known !== current) await applySubscription(application, lease, null)
    return current
  })
  return { customerId, currency }
}
