import type { PaymentProcessor } from '../../../ports/payment-processor.ts'
import { toSeconds } from './context.ts'
import type { StripeContext } from './context.ts'
import { isDuplicateUsage } from './errors.ts'

/** Usage in the meters of Stripe. */
export function usageOperations({
  stripe,
}: StripeContext): Pick<PaymentProcessor, 'sendUsage' | 'countUsage'> {
  const meterIds = new Map<string, string>()

  async function findMeterId(priceKey: string): Promise<string> {
    if (!meterIds.has(priceKey)) {
      for await (const meter of stripe.billing.meters.list({ status: 'active', limit: 100 })) {
        meterIds.set(meter.event_name, meter.id)
      }
    }
    const id = meterIds.get(priceKey)
    if (id === undefined)
      throw new Error(`The processor has no meter ${priceKey} because its price is not published`)
    return id
  }

  return {
    async sendUsage({ priceKey, customerId, identifier, at, quantity }) {
      if (!Number.isSafeInteger(quantity))
        throw new Error(`Usage is reported in whole units, not ${quantity}`)
      try {
        await stripe.billing.meterEvents.create({
          event_name: priceKey,
          identifier,
          timestamp: toSeconds(at),
          payload: { stripe_customer_id: customerId, value: String(quantity) },
        })
      } catch (error) {
        if (!isDuplicateUsage(error)) throw error
      }
    },

    async countUsage(priceKey, customerId, from, to) {
      const summaries = stripe.billing.meters.listEventSummaries(await findMeterId(priceKey), {
        customer: customerId,
        start_time: toSeconds(from),
        end_time: toSeconds(to),
        value_grouping_window: 'hour',
        limit: 100,
      })
      let sum = 0
      for await (const { aggregated_value: value } of summaries) sum += value
      return sum
    },
  }
}
