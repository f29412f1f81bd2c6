import { ApplicationError } from '../../../errors.ts'
import type { Services } from '../../../services.ts'
import { countOnAccount, refundAttempt } from '../rate-limits.ts'
import type { RateLimit } from '../rate-limits.ts'
import { checkCode, isAppCode } from './check-factor.ts'
import type { ShownFactor } from './check-factor.ts'
import { listFactorMethods } from './store.ts'

/** Three of a million codes are right at any time: an attacker with the password gets in with 2 % probability a year. */
const limit: RateLimit = {
  attempts: 20,
  windowMilliseconds: 24 * 3_600_000,
  message: 'Too many wrong codes today. Use a recovery code, or try again later.',
}

/**
 * Requires a second factor of a user whose password was right; null if the user has none. Throws `second_factor_required` without a
 * code, and `invalid_code`.
 */
export async function demandFactor(
  deps: Pick<Services, 'db' | 'clock' | 'secretKey'>,
  userId: number,
  { code, ...origin }: { code: string | undefined; network: string; isKnownNetwork: boolean },
): Promise<ShownFactor | null> {
  const { db, clock } = deps
  const methods = await listFactorMethods(db, userId)
  if (methods.length === 0) return null
  if (code === undefined) throw secondFactorRequired(methods)
  // Recovery codes are too long to guess, so that their owner can always use them.
  if (!isAppCode(code)) return checkCode(deps, userId, code)
  const attempts = await countOnAccount(db, { key: `second-factor:${userId}`, ...origin }, limit, clock())
  const shown = await checkCode(deps, userId, code)
  await Promise.all(attempts.map((attempt) => refundAttempt(db, attempt)))
  return shown
}

/** The password was right, and the sign-in needs one of the methods in addition. */
export function secondFactorRequired(methods: readonly string[]): ApplicationError {
  const message = 'Enter the code that your authenticator app shows, or a recovery code.'
  const facts = { facts: { second_factors: methods } }
  return new ApplicationError('unauthenticated', 'second_factor_required', message, facts)
}
