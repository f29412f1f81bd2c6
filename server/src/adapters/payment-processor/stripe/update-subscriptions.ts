import type { Stripe } from 'stripe'
import { idempotencyKeyFor } from './idempotency-key.ts'

/** The maximum number of items of a subscription (docs.stripe.com/api/subscriptions/create). */
export const maxPrices = 20

type ItemChange = Stripe.SubscriptionUpdateParams.Item

/**
 * Adds `prices` to live subscriptions. Others stay, because the end of the period charges their usage, unless
 * a subscription is full and they have none. `full`: subscriptions that still lack a price.
 */
export async function updateSubscriptions(
  stripe: Stripe,
  installation: string,
  prices: readonly Stripe.Price[],
): Promise<{ updated: number; full: string[] }> {
  let updated = 0
  const full: string[] = []
  for await (const subscription of stripe.subscriptions.list({ limit: 100 })) {
    if (subscription.metadata.installation !== installation || subscription.ended_at !== null) continue
    const items = subscription.items.data
    const changes: ItemChange[] = []
    const added: string[] = []
    for (const price of prices) {
      const item = items.find((candidate) => isSameKey(candidate.price, price))
      if (item === undefined) added.push(price.id)
      // Its meter was recreated.
      else if (item.price.id !== price.id) changes.push({ id: item.id, deleted: true }, { price: price.id })
    }
    const excess = items.length + added.length - maxPrices
    const others = items.filter((item) => !prices.some((price) => isSameKey(item.price, price)))
    const freed = excess > 0 ? (await findUnused(stripe, subscription, others)).slice(0, excess) : []
    if (freed.length < excess) full.push(subscription.id)
    const room = maxPrices - items.length + freed.length
    changes.push(
      ...freed.map(({ id }) => ({ id, deleted: true })),
      ...added.slice(0, room).map((price) => ({ price })),
    )
    if (changes.length > 0) {
      const before = items.map(({ id, price }) => [id, price.id])
      await stripe.subscriptions.update(
        subscription.id,
        { items: changes, proration_behavior: 'none' },
        idempotencyKeyFor({ subscription: subscription.id, before, changes }),
      )
      updated += 1
    }
  }
  return { updated, full }
}

/** True for two prices of the same usage: one replaces the other. */
export function isSameKey(one: Stripe.Price, other: Stripe.Price): boolean {
  return one.metadata.berth_key === other.metadata.berth_key
}

/** The metered items without usage in the current period. */
async function findUnused(
  stripe: Stripe,
  { customer }: Stripe.Subscription,
  items: readonly Stripe.SubscriptionItem[],
): Promise<Stripe.SubscriptionItem[]> {
  const unused: Stripe.SubscriptionItem[] = []
  for (const item of items) {
    const meter = item.price.recurring?.meter ?? null
    if (meter === null) continue
    const { data } = await stripe.billing.meters.listEventSummaries(meter, {
      customer: typeof customer === 'string' ? customer : customer.id,
      start_time: Math.floor(item.current_period_start / 60) * 60,
      end_time: Math.ceil(item.current_period_end / 60) * 60,
    })
    if (data.every(({ aggregated_value: value }) => value === 0)) unused.push(item)
  }
  return unused
}
