import type { Services } from '../../../services.ts'
import type { MeteredPrice } from '../../../ports/payment-processor.ts'
import { listMeteredPrices } from '../../metering/prices.ts'
import { listPlacedInstances } from '../account/store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'payments' | 'runtimes' | 'prices'>

/**
 * Publishes the prices of all offered instances in the sandbox, or only of those in use if a subscription has
 * no room for all. For Stripe, the operator runs `npm run stripe:setup`.
 */
export async function publishSandboxPrices(deps: Deps): Promise<void> {
  const { db, prices, clock, payments } = deps
  if (payments.name !== 'sandbox') return
  const offered = await listOfferedPrices(deps)
  const fits = offered.length <= payments.maxPrices
  const { maxPrices } = payments
  await payments.publishPrices(
    fits ? offered : listMeteredPrices(prices, clock(), await listPlacedInstances(db), maxPrices),
  )
}

/** Warns when offered instances have unpublished prices or more prices than a subscription can have. */
export async function checkPrices(deps: Deps & Pick<Services, 'log'>): Promise<void> {
  const { payments, log } = deps
  const offered = await listOfferedPrices(deps)
  if (offered.length > payments.maxPrices) {
    log.warn(
      { prices: offered.length, most: payments.maxPrices },
      'there are more instance types than a subscription can have prices: list the available ones in KUBERNETES_INSTANCE_TYPES, or remove the others from INSTANCE_TYPES_FILE',
    )
  }
  if (payments.name === 'sandbox') return
  const published = new Set(await payments.listPublishedKeys())
  const missing = offered.flatMap(({ key }) => (published.has(key) ? [] : key))
  if (missing.length > 0) {
    log.warn(
      { prices: missing },
      'these prices are not published, so their usage is not charged: run npm run stripe:setup',
    )
  }
}

async function listOfferedPrices({ prices, clock, runtimes, payments }: Deps): Promise<MeteredPrice[]> {
  const { offers, away } = await runtimes.listOffers()
  // The prices of missing offers would be taken back.
  if (away.length > 0) throw new Error(`the instance types of ${away.join(', ')} are unknown`)
  const instances = offers.map(({ instanceType, region }) => ({ instance_type: instanceType, region }))
  return listMeteredPrices(prices, clock(), instances, payments.maxPrices)
}
