import type { Database } from '../../database/tables.ts'

/** The longest time between two settlements that needs no confirmation. */
const longestPauseMilliseconds = 12 * 3_600_000
/** How long a time after a longer pause must be observed before it is trusted. */
const confirmationMilliseconds = 3_600_000
/** Settlements run every minute; the time of a longer gap between two of them was not observed. */
const longestGapMilliseconds = 5 * 60_000

/** What the settlements so far tell about the clock. */
export interface SettlementClock {
  /** The latest time of a settlement that is trusted: hours before it may be sealed */
  trusted_at: Date
  /** The time of the last settlement */
  observed_at: Date
  /** How long the time after a pause has been observed; null if there is nothing to confirm */
  observed_milliseconds: number | null
}

/**
 * The state of the clock after a settlement at `now`. A time far ahead of the last settlement (no worker ran,
 * or the clock is wrong) is trusted after an hour, because a sealed hour can't be corrected.
 */
export function observeClock(clock: SettlementClock | undefined, now: Date): SettlementClock {
  const trusted = { trusted_at: now, observed_at: now, observed_milliseconds: null }
  if (clock === undefined || now.getTime() - clock.trusted_at.getTime() <= longestPauseMilliseconds)
    return trusted
  const gap = now.getTime() - clock.observed_at.getTime()
  const step = Math.min(Math.max(gap, 0), longestGapMilliseconds)
  const observed = clock.observed_milliseconds === null ? 0 : clock.observed_milliseconds + step
  if (observed >= confirmationMilliseconds) return trusted
  return { ...clock, observed_at: now, observed_milliseconds: observed }
}

/** Records a settlement at `now` and returns what its time is worth. */
export function recordSettlement(
  db: Database,
  now: Date,
): Promise<{ clock: SettlementClock; hasBegunToWait: boolean }> {
  return db.transaction().execute(async (transaction) => {
    const before = await transaction
      .selectFrom('settlement_clock')
      .select(['trusted_at', 'observed_at', 'observed_milliseconds'])
      .forUpdate()
      .executeTakeFirst()
    const clock = observeClock(before, now)
    await transaction
      .insertInto('settlement_clock')
      .values({ id: 1, ...clock })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(clock))
      .execute()
    const hasBegunToWait = clock.observed_milliseconds === 0 && before?.observed_milliseconds === null
    return { clock, hasBegunToWait }
  })
}
