import { createHash } from 'node:crypto'
import { Stripe } from 'stripe'
import type { MeteredPrice } from '../../../ports/payment-processor.ts'
import { Exact, currencyDigits } from '../decimal.ts'
import { nullIfMissing } from './errors.ts'
import { idempotencyKeyFor } from './idempotency-key.ts'
import { isSameKey, mostPrices, updateSubscriptions } from './update-subscriptions.ts'

/** What a publication changed. */
export interface PublishReport {
  /** Keys of the prices that were made, because there was none of that amount */
  created: string[]
  /** How many live subscriptions were brought to them */
  subscriptions: number
}

/**
 * The prices that this installation published last, oldest first: those whose lookup key is the `berth_key` that they were made
 * with, and that did not leave its list since.
 */
export async function findMeteredPrices(stripe: Stripe, installation: string): Promise<Stripe.Price[]> {
  const mark = retiredMark(installation)
  return (await listOurPrices(stripe)).filter(
    (price) => isCurrent(price) && price.metadata[mark] === undefined,
  )
}

/** The metadata of a price that left the list of an installation; others of the same account may have it in theirs. */
function retiredMark(installation: string): string {
  return `retired_${installation}`
}

async function listOurPrices(stripe: Stripe): Promise<Stripe.Price[]> {
  const prices = await Array.fromAsync(stripe.prices.list({ active: true, type: 'recurring', limit: 100 }))
  return prices.filter((price) => price.metadata.berth_key !== undefined).toReversed()
}

/** False for a price whose lookup key has moved on to its successor. */
function isCurrent(price: Stripe.Price): boolean {
  return price.lookup_key === price.metadata.berth_key
}

/**
 * Makes a product, a meter and a monthly price for each of `prices`, and nothing where they exist. Amounts can't be changed at
 * the processor: a new price takes the lookup key over, the old one is closed, and live subscriptions move to the new one. New
 * subscriptions have none of what is not in `prices` any more; live ones keep it.
 */
export async function publishPrices(
  stripe: Stripe,
  installation: string,
  prices: readonly MeteredPrice[],
): Promise<PublishReport> {
  if (prices.length > mostPrices) {
    throw new Error(`A subscription takes ${mostPrices} prices at most, and there are ${prices.length}`)
  }
  const meters = await Array.fromAsync(stripe.billing.meters.list({ status: 'active', limit: 100 }))
  const published = await listOurPrices(stripe)
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
  // Only now: a price that a killed run had replaced is closed by the next one.
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
      `Subscriptions that have no room for all prices, because what they have in place of them was used: ${full.join(', ')}`,
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
  // The predecessor tells a price that comes back from the one that it once was.
  return stripe.prices.create(created, idempotencyKeyFor({ ...created, predecessor }))
}

function isSamePrice(price: Stripe.Price, currency: string, amount: string, meter: string): boolean {
  return (
    price.currency === currency &&
    price.recurring?.meter === meter &&
    new Exact(String(price.unit_amount_decimal)).equals(amount)
  )
}

/** A price in the smallest unit of its currency, which Stripe takes with 12 decimals at most. */
function toMinorUnits({ key, unitAmountDecimal, currency }: MeteredPrice): string {
  const amount = new Exact(unitAmountDecimal).times(new Exact(10).pow(currencyDigits(currency)))
  if (amount.isNegative() || amount.decimalPlaces() > 12) {
    throw new Error(
      `The price of ${key} can't be published: ${unitAmountDecimal} ${currency} is negative or too fine`,
    )
  }
  return amount.toFixed()
}
