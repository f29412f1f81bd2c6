import { isFreeOfLimits, networkOf } from '../../base/network.ts'
import type { Actor } from '../../base/viewer.ts'
import type { Services } from '../../services.ts'
import { countAttempt, refundAttempts } from './rate-limits.ts'

/** Counts an account of a network, if `make` makes it. Throws a `RateLimitedError` above the limit. */
export async function countRegistration<Made>(
  { db, clock, config }: Pick<Services, 'db' | 'clock' | 'config'>,
  { address }: Actor,
  make: () => Promise<Made>,
): Promise<Made> {
  if (isFreeOfLimits(address ?? '', config.trustProxy)) return make()
  const limit = {
    attempts: config.networkLimits.registrationsPerHour,
    windowMilliseconds: 3_600_000,
    message: 'Too many accounts were made from your network. Try again later.',
  }
  const counted = await countAttempt(db, `registration:${networkOf(address ?? '')}`, limit, clock())
  try {
    return await make()
  } catch (error) {
    await refundAttempts(db, [counted])
    throw error
  }
}
