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

/** How far this machine's clock may be ahead of the database's: less than an hour waits for its seal. */
const mostAheadMilliseconds = 5 * 60_000

/**
 * Writes the hourly buckets of every organization with usage up to now and seals hours that are over; may be run at any time. A
 * machine whose clock is ahead leaves it to others, because what it sealed too early could never be mended.
 */
export async function settleUsage(world: Deps & Pick<Services, 'log'>): Promise<void> {
  const ahead = await measureClock(world.db)
  if (ahead > mostAheadMilliseconds) {
    world.log.error(
      { aheadMilliseconds: ahead },
      "usage was not settled: this machine's clock is ahead of the database's",
    )
    return
  }
  for (const organizationId of await listUnsettledOrganizations(world.db)) {
    try {
      await settleOrganization(world, organizationId)
    } catch (error) {
      world.log.error({ err: error, organization: organizationId }, 'usage could not be settled')
    }
  }
}

/** Milliseconds by which this machine's clock (not the application's, which tests set) is ahead of the database's, at least. */
async function measureClock(db: Database): Promise<number> {
  const before = Date.now()
  const { rows } = await sql<{ at: Date }>`SELECT clock_timestamp() AS at`.execute(db)
  return before - rows[0]!.at.getTime()
}

/** The same for one organization, in one transaction. */
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
