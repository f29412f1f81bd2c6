import { sql } from 'kysely'
import type { Services } from '../../services.ts'
import type { Database } from '../../database/tables.ts'
import { planSettlement } from './ledger.ts'
import type { PriceFinder } from './ledger.ts'
import { findPrice } from './prices.ts'
import type { Price } from './prices.ts'
import { lockLedger } from './spans.ts'
import { listUnsettledOrganizations, loadOpenLedger, writeBuckets } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock'> & { prices: readonly Price[] }

/** The allowed lead of this machine's clock over the database's; it must be shorter than the 15 minutes before an hour is sealed. */
const maxAheadMilliseconds = 5 * 60_000

/**
 * Writes the hourly buckets of every organization with unsealed usage and seals completed hours. Safe to run at any time. Does
 * nothing when this machine's clock is ahead, because an hour sealed too early can't be corrected.
 */
export async function settleUsage(deps: Deps & Pick<Services, 'log'>): Promise<void> {
  const ahead = await measureClock(deps.db)
  if (ahead > maxAheadMilliseconds) {
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

/** The minimum lead in milliseconds of this machine's clock over the database's. Ignores the injected clock, which tests set. */
async function measureClock(db: Database): Promise<number> {
  const before = Date.now()
  const { rows } = await sql<{ at: Date }>`SELECT clock_timestamp() AS at`.execute(db)
  return before - rows[0]!.at.getTime()
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
