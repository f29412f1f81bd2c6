import { createHash } from 'node:crypto'
import { Stripe } from 'stripe'
import type { MeteredPrice } from '../../../ports/payment-processor.ts'
import { Exact, currencyDigits } from '../decimal.ts'
import { nullIfMissing } from './errors.ts'

/** A subscription holds 20 items at most, and each of ours holds all prices (docs.stripe.com/api/subscriptions/create). */
const mostPrices = 20

/** What a publication changed. */
export interface PublishReport {
  /** Keys of the prices that were made, because there was none of that amount */
  created: string[]
  /** How many live subscriptions were brought to them */
  subscriptions: number
}

/** Our prices at the processor, oldest first: those whose lookup key is the `berth_key` that they were made with. */
export async function findMeteredPrices(stripe: Stripe): Promise<Stripe.Price[]> {
  return (await listOurPrices(stripe)).filter(isCurrent)
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
 * the processor: a new price takes the lookup key over, the old one is closed, and live subscriptions move to the new one.
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
  const subscriptions = await updateSubscriptions(stripe, installation, current)
  // Only now: a price that a killed run had replaced is closed by the next one.
  for (const old of published) {
    const successor = current.find(({ metadata }) => metadata.berth_key === old.metadata.berth_key)
    if (successor !== undefined && successor.id !== old.id) {
      await stripe.prices.update(old.id, { active: false })
    }
  }
  return { created, subscriptions }
}

function createMeter(stripe: Stripe, price: MeteredPrice): Promise<Stripe.Billing.Meter> {
  const meter: Stripe.Billing.MeterCreateParams = {
    display_name: price.displayName,
    event_name: price.key,
    default_aggregation: { formula: 'sum' },
    customer_mapping: { type: 'by_id', event_payload_key: 'stripe_customer_id' },
    value_settings: { event_payload_key: 'value' },
  }
  return stripe.billing.meters.create(meter, once(meter))
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
    (await stripe.products.create(product, once(product)))
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
  return stripe.prices.create(created, once({ ...created, predecessor }))
}

/** One key for one thing, so that two who publish at the same moment make it once. */
function once(parameters: object): { idempotencyKey: string } {
  return { idempotencyKey: `berth-${createHash('sha256').update(JSON.stringify(parameters)).digest('hex')}` }
}

function isSamePrice(price: Stripe.Price, currency: string, amount: string, meter: string): boolean {
  return (
    price.currency === currency &&
    price.recurring?.meter === meter &&
    new Exact(String(price.unit_amount_decimal)).equals(amount)
  )
}

/** Brings this installation's live subscriptions to the current prices: a new one is added, a replaced one swapped. */
async function updateSubscriptions(
  stripe: Stripe,
  installation: string,
  prices: readonly Stripe.Price[],
): Promise<number> {
  let updated = 0
  for await (const subscription of stripe.subscriptions.list({ limit: 100 })) {
    if (subscription.metadata.installation !== installation || subscription.ended_at !== null) continue
    const changes = prices.flatMap((price): Stripe.SubscriptionUpdateParams.Item[] => {
      const item = subscription.items.data.find(
        (candidate) => candidate.price.metadata.berth_key === price.metadata.berth_key,
      )
      if (item === undefined) return [{ price: price.id }]
      return item.price.id === price.id ? [] : [{ id: item.id, price: price.id }]
    })
    if (changes.length > 0) {
      const before = subscription.items.data.map(({ id, price }) => [id, price.id])
      await stripe.subscriptions.update(
        subscription.id,
        { items: changes, proration_behavior: 'none' },
        once({ subscription: subscription.id, before, changes }),
      )
      updated += 1
    }
  }
  return updated
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
