import type { Application } from '../../application.ts'
import { listMeteredPrices } from '../metering/prices.ts'

/** Keeps the sandbox's prices those of the price file. At a real processor a person publishes them, by a command. */
export async function publishSandboxPrices({
  prices,
  clock,
  payments,
}: Pick<Application, 'prices' | 'clock' | 'payments'>): Promise<void> {
  if (payments.name === 'sandbox') await payments.publishPrices(listMeteredPrices(prices, clock()))
}
