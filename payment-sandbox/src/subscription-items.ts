import type { Stripe } from 'stripe'
import type { SandboxDatabase } from './database.ts'
import { invalid, missing } from './errors.ts'
import type { Price, Subscription, SubscriptionItem, Wire } from './object-types.ts'
import { getObject, newId } from './objects.ts'
import type { Change } from './store.ts'

const maxItems = 20

export interface Period {
  /** Seconds since 1970 */
  start: number
  end: number
}

export async function createItems(
  { db, second }: Change,
  prices: readonly { price: string }[],
  period: Period,
): Promise<SubscriptionItem[]> {
  const items = []
  for (const { price } of prices) items.push(buildItem(await getActivePrice(db, price), second, period))
  return requireValid(items)
}

/** A price to add, or an item to remove. */
export type ItemChange = { price: string } | { id: string; deleted: true }

/**
 * The items after `changes`. A new item counts usage from now on; a removed one's usage is not charged, as in
 * Stripe without prorations (docs.stripe.com/billing/subscriptions/usage-based/manage-billing-setup).
 */
export async function changeItems(
  { db, second }: Change,
  { items: { data: items } }: Subscription,
  changes: readonly ItemChange[],
): Promise<SubscriptionItem[]> {
  if (changes.length === 0) return items
  let changed = items
  for (const change of changes) {
    if ('price' in change) {
      const price = await getActivePrice(db, change.price)
      changed = [...changed, buildItem(price, second, periodOf(items))]
    } else {
      if (!changed.some(({ id }) => id === change.id))
        throw missing('subscription_item', change.id, 'items[id]')
      changed = changed.filter(({ id }) => id !== change.id)
    }
  }
  return requireValid(changed)
}

/** The current period, which all items of a subscription share. */
export function periodOf([item]: readonly SubscriptionItem[]): Period {
  if (item === undefined) throw new Error('a subscription has at least one item')
  return { start: item.current_period_start, end: item.current_period_end }
}

async function getActivePrice(db: SandboxDatabase, id: string): Promise<Price> {
  const price = await getObject(db, 'price', id, 'items[price]')
  if (!price.active) throw invalid(`The price ${id} is inactive.`, 'items[price]')
  return price
}

function buildItem(price: Price, created: number, { start, end }: Period): SubscriptionItem {
  return {
    id: newId('si'),
    object: 'subscription_item',
    created,
    current_period_end: end,
    current_period_start: start,
    price,
  } satisfies Wire<Stripe.SubscriptionItem>
}

function requireValid(items: SubscriptionItem[]): SubscriptionItem[] {
  if (items.length === 0 || items.length > maxItems) {
    throw invalid(`A subscription has 1 to ${maxItems} items.`, 'items')
  }
  if (new Set(items.map(({ price }) => price.currency)).size > 1) {
    throw invalid('All prices of a subscription must have the same currency.', 'items')
  }
  // Usage would be charged twice.
  if (new Set(items.map(({ price }) => price.id)).size < items.length) {
    throw invalid('A subscription can’t have two items with the same price.', 'items')
  }
  return items
}
