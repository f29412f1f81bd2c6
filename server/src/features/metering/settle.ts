import type { Services } from '../../services.ts'
import { planSettlement } from './ledger.ts'
import type { PriceFinder } from './ledger.ts'
import { findPrice, isValidAt } from './prices.ts'
import type { Price } from '../../base/price.ts'
import { recordSettlement } from './settlement-clock.ts'
import { lockLedger, moveFutureSpans } from './spans.ts'
import { listUnsettledOrganizations, loadOpenLedger, writeBuckets } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'prices'>

/** Writes hourly buckets of unsealed usage and seals completed hours, at any time. */
export async function settleUsage(deps: Deps & Pick<Services, 'log'>): Promise<void> {
  const sealLimit = await findSealLimit(deps)
  for (const organizationId of await listUnsettledOrganizations(deps.db)) {
    try {
      await moveFutureSpans(deps.db, organizationId, deps.clock())
      await settleOrganization(deps, organizationId, sealLimit)
    } catch (error) {
      deps.log.error({ err: error, organization: organizationId }, 'usage could not be settled')
    }
  }
}

/** Only hours before this time may be sealed; null for no limit. */
async function findSealLimit({ db, clock, log }: Deps & Pick<Services, 'log'>): Promise<Date | null> {
  const now = clock()
  const { clock: state, hasBegunToWait } = await recordSettlement(db, now)
  if (hasBegunToWait) {
    log.warn(
      { now, lastSettlement: state.trusted_at },
      'the last settlement was long ago, because no worker ran or because a clock was set: no usage is sealed for an hour',
    )
  }
  return state.observed_milliseconds === null ? null : state.trusted_at
}

/** Settles the usage of one organization in one transaction. Hours from `sealLimit` on stay open. */
export function settleOrganization(
  { db, clock, prices }: Deps,
  organizationId: number,
  sealLimit: Date | null = null,
): Promise<void> {
  return db.transaction().execute(async (transaction) => {
    const sealedThrough = await lockLedger(transaction, organizationId)
    const now = clock()
    const ledger = await loadOpenLedger(transaction, organizationId, sealedThrough)
    const plan = planSettlement(ledger, now, createPriceFinder(prices), sealLimit)
    await writeBuckets(transaction, organizationId, plan, now)
  })
}

export function createPriceFinder(prices: readonly Price[]): PriceFinder {
  return (meter, dimensions, hour, own = none) =>
    findPrice(choose(own, prices, hour), meter, dimensions, hour)
}

const none: readonly Price[] = []

function choose(own: readonly Price[], prices: readonly Price[], hour: Date): readonly Price[] {
  return own.some((price) => isValidAt(price, hour)) ? own : prices
}
