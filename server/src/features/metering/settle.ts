import type { Application } from '../../application.ts'
import { planSettlement } from './ledger.ts'
import type { PriceFinder } from './ledger.ts'
import { findPrice } from './prices.ts'
import type { Price } from './prices.ts'
import { lockLedger } from './spans.ts'
import { listUnsettled, loadOpenLedger, writeBuckets } from './store.ts'

type World = Pick<Application, 'db' | 'clock' | 'prices'>

/** Writes the hourly buckets of every organization with usage up to now and seals hours that are over; may be run at any time. */
export async function settleUsage(world: World & Pick<Application, 'log'>): Promise<void> {
  for (const organizationId of await listUnsettled(world.db)) {
    try {
      await settleOrganization(world, organizationId)
    } catch (error) {
      world.log.error({ err: error, organization: organizationId }, 'usage could not be settled')
    }
  }
}

/** The same for one organization, in one transaction. */
export function settleOrganization({ db, clock, prices }: World, organizationId: number): Promise<void> {
  return db.transaction().execute(async (transaction) => {
    const sealedThrough = await lockLedger(transaction, organizationId)
    const ledger = await loadOpenLedger(transaction, organizationId, sealedThrough)
    const now = clock()
    await writeBuckets(transaction, organizationId, planSettlement(ledger, now, finderIn(prices)), now)
  })
}

export function finderIn(prices: readonly Price[]): PriceFinder {
  return (meter, dimensions, hour) => findPrice(prices, meter, dimensions, hour)
}
