import type { PaymentProcessor, ProcessorSubscription } from '../../../ports/payment-processor.ts'
import type { StripeContext } from './context.ts'
import { cardRefusal, isFinal, nullIfMissing } from './errors.ts'
import { toSubscription } from './objects.ts'
import { findMeteredPrices } from './publish-prices.ts'

/** Payment term of invoices that are sent. */
const daysUntilDue = 30

/** The subscription of a customer to all published prices. */
export function subscriptionOperations({
  stripe,
  installation,
}: StripeContext): Pick<
  PaymentProcessor,
  | 'createSubscription'
  | 'findSubscription'
  | 'claimSubscription'
  | 'cancelSubscription'
  | 'setCollectionMethod'
> {
  return {
    async createSubscription({ customerId, organizationId, cardId, anchor, idempotencyKey }) {
      const prices = await findMeteredPrices(stripe, installation)
      if (prices.length === 0)
        throw new Error('No prices are published. For Stripe, run npm run stripe:setup')
      try {
        const subscription = await stripe.subscriptions.create(
          {
            customer: customerId,
            items: prices.map(({ id }) => ({ price: id })),
            // Periods of whole hours, so that no hour belongs to two of them.
            billing_cycle_anchor_config: {
              day_of_month: anchor.getUTCDate(),
              hour: anchor.getUTCHours(),
              minute: 0,
              second: 0,
            },
            collection_method: 'charge_automatically',
            default_payment_method: cardId,
            off_session: true,
            payment_behavior: 'error_if_incomplete',
            metadata: { installation, organization_id: String(organizationId) },
          },
          { idempotencyKey: `${installation}-${idempotencyKey}` },
        )
        return { outcome: 'created', subscription: toSubscription(subscription) }
      } catch (error) {
        const refusal = cardRefusal(error)
        if (refusal !== null) return refusal
        if (isFinal(error)) return { outcome: 'failed', error }
        throw error
      }
    },

    async findSubscription(customerId) {
      const list = stripe.subscriptions.list({ customer: customerId, status: 'all', limit: 100 })
      const found = ((await nullIfMissing(Array.fromAsync(list))) ?? []).map(toSubscription)
      const isOver = ({ status }: ProcessorSubscription) =>
        status === 'canceled' || status === 'incomplete_expired'
      return found.find((subscription) => !isOver(subscription)) ?? found[0] ?? null
    },

    async claimSubscription(subscriptionId) {
      await stripe.subscriptions.update(subscriptionId, { metadata: { installation } })
    },

    async cancelSubscription(subscriptionId) {
      await nullIfMissing(stripe.subscriptions.cancel(subscriptionId, { invoice_now: true }))
    },

    async setCollectionMethod(subscriptionId, method, cardId) {
      const card = cardId === null ? {} : { default_payment_method: cardId }
      const subscription = await stripe.subscriptions.update(
        subscriptionId,
        method === 'send_invoice'
          ? { collection_method: method, days_until_due: daysUntilDue, ...card }
          : { collection_method: method, ...card },
      )
      return toSubscription(subscription)
    },
  }
}
