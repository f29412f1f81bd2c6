import { ApplicationError } from '../../../base/errors.ts'
import type { CollectionMethod } from '../../../ports/payment-processor.ts'
import type { Services } from '../../../services.ts'
import type { Viewer } from '../../../base/viewer.ts'
import { withLease } from '../account/account-lease.ts'
import { isLive } from '../account/account-state.ts'
import { callProcessor, blocked, assertAccountOpen } from '../account/errors.ts'
import { applySubscription } from './sync-account.ts'
import { ensureAccount } from '../account/store.ts'
import type { BillingAccount } from '../account/store.ts'

/** Sets whether invoices are charged to the default card or sent to the customer for payment. */
export async function setCollectionMethod(
  deps: Pick<Services, 'db' | 'config' | 'clock' | 'log' | 'payments'>,
  viewer: Viewer,
  method: CollectionMethod,
): Promise<BillingAccount> {
  const { db, config, clock, log, payments } = deps
  const { id } = await ensureAccount(db, config, viewer.organizationId, clock())
  return withLease(deps, id, async (account, lease) => {
    assertAccountOpen(account)
    const { processor_customer_id: customerId } = account
    if (customerId === null) throw blocked('billing_not_activated')
    const subscription = await callProcessor(log, () => payments.findSubscription(customerId))
    if (subscription === null || !isLive(subscription.status)) throw blocked('billing_not_activated')
    let cardId: string | null = null
    if (method === 'charge_automatically') {
      const cards = await callProcessor(log, () => payments.listCards(customerId))
      const current = cards.find((card) => card.id === subscription.defaultPaymentMethodId)
      const card = current ?? cards.find(({ isDefault }) => isDefault)
      if (card === undefined) {
        throw new ApplicationError(
          'payment_method_required',
          'Automatic charging needs a default card. Save a card first.',
        )
      }
      cardId = card.id
    }
    const updated =
      subscription.collectionMethod === method
        ? subscription
        : await callProcessor(log, () => payments.setCollectionMethod(subscription.id, method, cardId))
    return applySubscription(deps, lease, updated, { actor: viewer })
  })
}
