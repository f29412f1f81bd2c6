import type { Services } from '../../services.ts'
import type { MeteredPrice } from '../../ports/payment-processor.ts'
import { listMeteredPrices } from '../metering/prices.ts'
import { listPlacedInstances } from './store.ts'
import type { Price } from '../metering/prices.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'payments' | 'runtime'> & { prices: readonly Price[] }

/**
 * Keeps the sandbox's prices those of the price file, for every instance that the runtime offers; where these are more than a
 * subscription takes, for those that deployments are placed on. At a real processor a person publishes them, by a command.
 */
export async function publishSandboxPrices(application: Deps): Promise<void> {
  const { db, prices, clock, payments } = application
  if (payments.name !== 'sandbox') return
  const offered = await listOfferedPrices(application)
  const fits = offered.length <= payments.mostPrices
  await payments.publishPrices(
    fits ? offered : listMeteredPrices(prices, clock(), await listPlacedInstances(db)),
  )
}

/** Tells an operator of what is charged for and could not be: instances that are not published, or too many of them. */
export async function checkPrices(application: Deps & Pick<Services, 'log'>): Promise<void> {
  const { payments, log } = application
  const offered = await listOfferedPrices(application)
  if (offered.length > payments.mostPrices) {
    log.warn(
      { prices: offered.length, most: payments.mostPrices },
      'a subscription does not take the prices of all instance types: name those that there are in KUBERNETES_INSTANCE_TYPES, or give an INSTANCE_TYPES_FILE with no others',
    )
  }
  if (payments.name === 'sandbox') return
  const published = new Set(await payments.listPublishedKeys())
  const missing = offered.flatMap(({ key }) => (published.has(key) ? [] : key))
  if (missing.length > 0) {
    log.warn(
      { prices: missing },
      'prices are not published, so nobody is charged for this: npm run stripe:setup',
    )
  }
}

async function listOfferedPrices({ prices, clock, runtime }: Deps): Promise<MeteredPrice[]> {
  const offers = await runtime.listOffers()
  const instances = offers.map(({ instanceType, region }) => ({ instance_type: instanceType, region }))
  return listMeteredPrices(prices, clock(), instances)
}
