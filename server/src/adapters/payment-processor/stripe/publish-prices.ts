import { createHash } from 'node:crypto'
import { Stripe } from 'stripe'
import type { MeteredPrice } from '../../../ports/payment-processor.ts'
import { Exact } from '../../../base/decimal.ts'
import { currencyDigits } from './currencies.ts'
import { nullIfMissing } from './errors.ts'
import { idempotencyKeyFor } from './idempotency-key.ts'
import { isSameKey, maxPrices, updateSubscriptions } from './update-subscriptions.ts'

/** The changes made by publishing prices. */
export interface PublishReport {
  /** Keys of the created prices */
  created: string[]
  /** Number of updated live subscriptions */
  subscriptions: number
}

/** This installation's current prices, oldest first, without replaced and retired ones. */
export async function findMeteredPrices(stripe: Stripe, installation: string): Promise<Stripe.Price[]> {
  const mark = retiredMark(installation)
  return (await listBerthPrices(stripe)).filter(
    (price) => isCurrent(price) && price.metadata[mark] === undefined,
  )
}

/** The metadata key of retired prices; other installations of the account may still publish them. */
function retiredMark(installation: string): string {
  return `retired_${installation}`
}

async function listBerthPrices(stripe: Stripe): Promise<Stripe.Price[]> {
  const prices = await Array.fromAsync(stripe.prices.list({ active: true, type: 'recurring', limit: 100 }))
  return prices.filter((price) => price.metadata.berth_key !== undefined).toReversed()
}

/** False for a replaced price: its lookup key was transferred to its successor. */
function isCurrent(price: Stripe.Price): boolean {
  return price.lookup_key === price.metadata.berth_key
}

/**
 * Creates products, meters and monthly prices, and updates subscriptions. A price is immutable: a new one
 * takes over the lookup key. Live subscriptions keep prices that are not in `prices`; new ones omit them.
 */
export async function publishPrices(
  stripe: Stripe,
  installation: string,
  prices: readonly MeteredPrice[],
): Promise<PublishReport> {
  if (prices.length > maxPrices) {
    throw new Error(`A subscription can have at most ${maxPrices} prices, but there are ${prices.length}`)
  }
  const meters = await Array.fromAsync(stripe.billing.meters.list({ status: 'active', limit: 100 }))
  const published = await listBerthPrices(stripe)
  const current: Stripe.Price[] = []
  const created: string[] = []
  for (const price of prices) {
    const meter =
      meters.find(({ event_name: name }) => name === price.key)?.id ?? (await createMeter(stripe, price)).id
    const amount = toMinorUnits(price)
    const existing = published.find((candidate) => isCurrent(candidate) && candidate.lookup_key === price.key)
    if (existing !== undefined && isSamePrice(existing, price.currency, amount, meter)) {
      current.push(existing)
      continue
    }
    current.push(await createPrice(stripe, price, amount, meter, existing?.id ?? null))
    created.push(price.key)
  }
  const { updated, full } = await updateSubscriptions(stripe, installation, current)
  // Old prices are deactivated last, so that after a crash the next run can still find and replace them.
  for (const old of published) {
    const successor = current.find((price) => isSameKey(price, old))
    if (successor !== undefined && successor.id !== old.id) {
      await stripe.prices.update(old.id, { active: false })
    }
  }
  const mark = retiredMark(installation)
  for (const price of current) {
    if (price.metadata[mark] !== undefined) await stripe.prices.update(price.id, { metadata: { [mark]: '' } })
  }
  for (const price of published.filter(isCurrent)) {
    const isListed = current.some((listed) => isSameKey(listed, price))
    if (!isListed && price.metadata[mark] === undefined) {
      await stripe.prices.update(price.id, { metadata: { [mark]: 'yes' } })
    }
  }
  if (full.length > 0) {
    throw new Error(
      `These subscriptions can't get all prices, because their retired prices have usage in this period: ${full.join(', ')}. Publish again after the period ends`,
    )
  }
  return { created, subscriptions: updated }
}

function createMeter(stripe: Stripe, price: MeteredPrice): Promise<Stripe.Billing.Meter> {
  const meter: Stripe.Billing.MeterCreateParams = {
    display_name: price.displayName,
    event_name: price.key,
    default_aggregation: { formula: 'sum' },
    customer_mapping: { type: 'by_id', event_payload_key: 'stripe_customer_id' },
    value_settings: { event_payload_key: 'value' },
  }
  return stripe.billing.meters.create(meter, idempotencyKeyFor(meter))
}

async function createPrice(
  stripe: Stripe,
  price: MeteredPrice,
  amount: string,
  meter: string,
  predecessor: string | null,
): Promise<Stripe.Price> {
  const product: Stripe.ProductCreateParams = {
    id: `berth_${createHash('sha256').update(price.key).digest('hex').slice(0, 24)}`,
    name: price.displayName,
    metadata: { berth_key: price.key },
  }
  const { id } =
    (await nullIfMissing(stripe.products.retrieve(product.id ?? ''))) ??
    (await stripe.products.create(product, idempotencyKeyFor(product)))
  const created: Stripe.PriceCreateParams = {
    product: id,
    currency: price.currency,
    unit_amount_decimal: Stripe.Decimal.from(amount),
    recurring: { interval: 'month', usage_type: 'metered', meter },
    nickname: price.displayName,
    lookup_key: price.key,
    transfer_lookup_key: true,
    metadata: { berth_key: price.key },
  }
  // The predecessor in the key distinguishes a price that returns to an earlier amount from the original.
  return stripe.prices.create(created, idempotencyKeyFor({ ...created, predecessor }))
}

function isSamePrice(price: Stripe.Price, currency: string, amount: string, meter: string): boolean {
  return (
    price.currency === currency &&
    price.recurring?.meter === meter &&
    new Exact(String(price.unit_amount_decimal)).equals(amount)
  )
}

/** Converts a price to the currency's smallest unit; Stripe accepts up to 12 decimals. */
function toMinorUnits({ key, unitAmountDecimal, currency }: MeteredPrice): string {
  const amount = new Exact(unitAmountDecimal).times(new Exact(10).pow(currencyDigits(currency)))
  if (amount.isNegative() || amount.decimalPlaces() > 12) {
    throw new Error(
      `The price of ${key} can't be published: ${unitAmountDecimal} ${currency} is negative or has too many decimals`,
    )
  }
  return amount.toFixed()
}
