import { Stripe } from 'stripe'
import type { Database } from '../../../database/tables.ts'
import { invalid, missing } from './errors.ts'
import { getObject, newId } from './store.ts'
import type { Step } from './store.ts'

export interface ItemInput {
  id?: string | undefined
  price?: string | undefined
  quantity?: number | undefined
  deleted?: boolean | undefined
}

/** A price that can be subscribed to. */
export async function findPrice(db: Database, id: string): Promise<Stripe.Price> {
  const price = await getObject(db, 'price', id, 'items[price]')
  if (!price.active) throw invalid(`The price ${id} is inactive.`, 'items[price]')
  if (price.type !== 'recurring') throw invalid(`The price ${id} is not recurring.`, 'items[price]')
  return price
}

export function buildItem(
  step: Step,
  subscriptionId: string,
  price: Stripe.Price,
  period: { start: number; end: number },
  quantity: number | undefined,
): Stripe.SubscriptionItem {
  const isMetered = price.recurring?.usage_type === 'metered'
  if (isMetered && quantity !== undefined) {
    throw invalid('A metered price takes no quantity.', 'items[quantity]')
  }
  return {
    id: newId('si'),
    object: 'subscription_item',
    billing_thresholds: null,
    created: step.second,
    current_period_end: period.end,
    current_period_start: period.start,
    current_trial: null,
    discounts: [],
    metadata: {},
    plan: buildPlan(price),
    price,
    ...(isMetered ? {} : { quantity: quantity ?? 1 }),
    subscription: subscriptionId,
    tax_rates: [],
  } satisfies Stripe.SubscriptionItem
}

/** The price once more, in the shape that prices had before they were called so. */
function buildPlan(price: Stripe.Price): Stripe.Plan {
  return {
    id: price.id,
    object: 'plan',
    active: price.active,
    amount: price.unit_amount,
    amount_decimal: Stripe.Decimal.from(String(price.unit_amount_decimal)),
    billing_scheme: 'per_unit',
    created: price.created,
    currency: price.currency,
    interval: 'month',
    interval_count: 1,
    livemode: false,
    metadata: price.metadata,
    meter: price.recurring?.meter ?? null,
    nickname: price.nickname,
    product: price.product,
    tiers_mode: null,
    transform_usage: null,
    trial_period_days: null,
    usage_type: price.recurring?.usage_type ?? 'licensed',
  } satisfies Stripe.Plan
}

/** Items after the changes; usage so far is charged at the price that the item has when the period ends. */
export async function changeItems(
  step: Step,
  subscription: Stripe.Subscription,
  changes: readonly ItemInput[],
): Promise<Stripe.SubscriptionItem[]> {
  let items = subscription.items.data
  const [first] = items
  if (first === undefined || changes.length === 0) return items
  const period = { start: first.current_period_start, end: first.current_period_end }
  for (const { id, price: priceId, quantity, deleted } of changes) {
    const old = id === undefined ? undefined : items.find((item) => item.id === id)
    if (id !== undefined && old === undefined) throw missing('subscription_item', id, 'items[id]', 400)
    if (old !== undefined && deleted === true) {
      items = items.filter((item) => item !== old)
      continue
    }
    const price = priceId === undefined ? old?.price : await findPrice(step.db, priceId)
    if (price === undefined) throw invalid('An item needs a price.', 'items[price]', 'parameter_missing')
    if (price.currency !== subscription.currency) {
      throw invalid('All prices of a subscription have the same currency.', 'items[price]')
    }
    const built = buildItem(step, subscription.id, price, period, quantity)
    items =
      old === undefined
        ? [...items, built]
        : items.map((item) => (item === old ? { ...built, id: old.id, created: old.created } : item))
  }
  if (items.length === 0 || items.length > 20) {
    throw invalid('A subscription has from 1 to 20 items.', 'items')
  }
  requireDistinct(items.map(({ price }) => price))
  return items
}

/** Usage would be charged twice. */
export function requireDistinct(prices: readonly Stripe.Price[]): void {
  if (new Set(prices.map(({ id }) => id)).size < prices.length) {
    throw invalid('A subscription can’t have two items with the same price.', 'items')
  }
}
