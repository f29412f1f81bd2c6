import type { Services } from '../../services.ts'
import { ApplicationError } from '../../base/errors.ts'
import type { SavedCard } from '../../ports/payment-processor.ts'
import type { Viewer } from '../../base/viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { withLease } from './account-lease.ts'
import { isLive } from './account-state.ts'
import { getCard } from './customer.ts'
import { callProcessor } from './errors.ts'
import { makeOnlyCardDefault } from './make-only-card-default.ts'
import { ensureAccount } from './store.ts'

type Deps = Pick<Services, 'db' | 'config' | 'clock' | 'log' | 'payments'>

export async function listPaymentMethods(deps: Deps, viewer: Viewer): Promise<SavedCard[]> {
  const { db, config, clock, log, payments } = deps
  const { processor_customer_id: customerId } = await ensureAccount(
    db,
    config,
    viewer.organizationId,
    clock(),
  )
  return customerId === null ? [] : callProcessor(log, () => payments.listCards(customerId))
}

/** Makes a card the default for new invoices, including those of the subscription. */
export async function setDefaultPaymentMethod(
  deps: Deps,
  viewer: Viewer,
  cardId: string,
): Promise<SavedCard> {
  const { db, config, clock, log, payments } = deps
  const { id } = await ensureAccount(db, config, viewer.organizationId, clock())
  return withLease(deps, id, async (account) => {
    const card = await getCard(deps, account, cardId)
    const customerId = account.processor_customer_id!
    await callProcessor(log, async () => {
      const subscription = await payments.findSubscription(customerId)
      const live = subscription !== null && isLive(subscription.status) ? subscription.id : null
      await payments.setDefaultCard(customerId, live, card.id)
    })
    const target = toTarget(card)
    await recordAction(db, viewer, 'payment_method.made_default', { target })
    return { ...card, isDefault: true }
  })
}

/** Removes a saved card; throws `payment_method_in_use` for the card that the subscription is charged to. */
export async function detachPaymentMethod(deps: Deps, viewer: Viewer, cardId: string): Promise<void> {
  const { db, config, clock, log, payments } = deps
  const { id } = await ensureAccount(db, config, viewer.organizationId, clock())
  await withLease(deps, id, async (account) => {
    const card = await getCard(deps, account, cardId)
    const subscription = await callProcessor(log, () =>
      payments.findSubscription(account.processor_customer_id!),
    )
    if (
      subscription !== null &&
      isLive(subscription.status) &&
      subscription.collectionMethod === 'charge_automatically' &&
      (subscription.defaultPaymentMethodId === null
        ? card.isDefault
        : subscription.defaultPaymentMethodId === card.id)
    ) {
      throw new ApplicationError(
        'payment_method_in_use',
        'The subscription is charged to this card. Make another card the default first.',
      )
    }
    await callProcessor(log, () => payments.detachCard(card.id))
    await recordAction(db, viewer, 'payment_method.removed', { target: toTarget(card) })
    await callProcessor(log, () => makeOnlyCardDefault(deps, account.processor_customer_id!))
  })
}

function toTarget({ id, brand, last4 }: SavedCard) {
  return { type: 'payment_method', id, name: `${brand} ${last4}` } as const
}
