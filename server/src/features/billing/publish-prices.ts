import type { Application } from '../../application.ts'
import { listMeteredPrices } from '../metering/prices.ts'

/**
 * Keeps the sandbox's prices those of the price file, for every instance that the runtime offers. At a real processor a person
 * publishes them, by a command.
 */
export async function publishSandboxPrices({
  prices,
  clock,
  payments,
  runtime,
}: Pick<Application, 'prices' | 'clock' | 'payments' | 'runtime'>): Promise<void> {
  if (payments.name !== 'sandbox') return
  const offers = await runtime.listOffers()
  const instances = offers.map(({ instanceType, region }) => ({ instance_type: instanceType, region }))
  await payments.publishPrices(listMeteredPrices(prices, clock(), instances))
}
