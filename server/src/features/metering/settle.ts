import { findClockLead } from '../../database/clock-lead.ts'
import type { Services } from '../../services.ts'
import { planSettlement } from './ledger.ts'
import type { PriceFinder } from './ledger.ts'
import { findPrice } from './prices.ts'
import type { Price } from '../../base/price.ts'
import { lockLedger } from './spans.ts'
import { listUnsettledOrganizations, loadOpenLedger, writeBuckets } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'prices'>

/**
 * Writes the hourly buckets of every organization with unsealed usage and seals completed hours. Safe to run at any time. Does
 * nothing when this machine's clock is ahead, because an hour sealed too early can't be corrected.
 */
export async function settleUsage(deps: Deps & Pick<Services, 'log'>): Promise<void> {
  const ahead = await findClockLead(deps.db)
  if (ahead !== null) {
    deps.log.error(
      { aheadMilliseconds: ahead },
      "usage was not settled because this machine's clock is ahead of the database's: check its time synchronization",
    )
    return
  }
  for (const organizationId of await listUnsettledOrganizations(deps.db)) {
    try {
      await settleOrganization(deps, organizationId)
    } catch (error) {
      deps.log.error({ err: error, organization: organizationId }, 'usage could not be settled')
    }
  }
}

/** Settles the usage of one organization in one transaction. */
export function settleOrganization({ db, clock, prices }: Deps, organizationId: number): Promise<void> {
  return db.transaction().execute(async (transaction) => {
    const sealedThrough = await lockLedger(transaction, organizationId)
    const ledger = await loadOpenLedger(transaction, organizationId, sealedThrough)
    const now = clock()
    await writeBuckets(
      transaction,
      organizationId,
      planSettlement(ledger, now, createPriceFinder(prices)),
      now,
    )
  })
}

export function createPriceFinder(prices: readonly Price[]): PriceFinder {
  return (meter, dimensions, hour) => findPrice(prices, meter, dimensions, hour)
}
