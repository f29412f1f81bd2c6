import type { Services } from '../../../services.ts'
import type { ProcessorSubscription, SavedCard } from '../../../ports/payment-processor.ts'
import type { Viewer } from '../../../base/viewer.ts'
import { recordAction } from '../../audit/record-action.ts'
import { withLease } from '../account/account-lease.ts'
import { isLive } from '../account/account-state.ts'
import { getCard } from './customer.ts'
import { callProcessor } from '../account/errors.ts'
import { makeOnlyCardDefault } from './make-only-card-default.ts'
import { ensureAccount } from '../account/store.ts'

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

/** Removes a saved card. If the subscription is charged to it, the newest other card takes its place. */
export async function detachPaymentMethod(deps: Deps, viewer: Viewer, cardId: string): Promise<void> {
  const { db, config, clock, log, payments } = deps
  const { id } = await ensureAccount(db, config, viewer.organizationId, clock())
  await withLease(deps, id, async (account) => {
    const card = await getCard(deps, account, cardId)
    const subscription = await callProcessor(log, () =>
      payments.findSubscription(account.processor_customer_id!),
    )
    await callProcessor(log, () => payments.detachCard(card.id))
    await recordAction(db, viewer, 'payment_method.deleted', { target: toTarget(card) })
    const customerId = account.processor_customer_id!
    if (subscription === null || !isCharged(card, subscription)) {
      await callProcessor(log, () => makeOnlyCardDefault(deps, customerId))
      return
    }
    const [next] = await callProcessor(log, () => payments.listCards(customerId))
    if (next === undefined) return
    await callProcessor(log, () => payments.setDefaultCard(customerId, subscription.id, next.id))
  })
}

function isCharged(card: SavedCard, subscription: ProcessorSubscription): boolean {
  const { status, collectionMethod, defaultPaymentMethodId: cardId } = subscription
  if (!isLive(status) || collectionMethod !== 'charge_automatically') return false
  return cardId === null ? card.isDefault : cardId === card.id
}

function toTarget({ id, brand, last4 }: SavedCard) {
  return { type: 'payment_method', id, name: `${brand} ${last4}` } as const
}
