import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { ApplicationError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import { countOnAccount, refundAttempts, refundUnjudged } from '../accounts/rate-limits.ts'
import type { RateLimit } from '../accounts/rate-limits.ts'
import { checkCode, checkPasskey, isAppCode } from './check-factor.ts'
import type { VerifiedFactor } from './check-factor.ts'
import { secondFactorRequired } from './errors.ts'
import { challengeMilliseconds, insertChallenge, listPasskeys } from './passkey-store.ts'
import { listFactorMethods } from './store.ts'
import type { FactorMethod } from './store.ts'
import { createRequestOptions } from './webauthn.ts'

/** Three of a million codes are right: an attacker with the password succeeds with 2 % a year. */
const limit: RateLimit = {
  attempts: 20,
  windowMilliseconds: 24 * 3_600_000,
  message: 'Too many wrong codes today. Use a recovery code, or try again later.',
}

/** The second factor that a caller sends with the password. */
export interface PresentedFactor {
  code?: string | undefined
  passkey?: AuthenticationResponseJSON | undefined
}

/** Null for users without a factor. Throws `second_factor_required`, `invalid_code` and `invalid_passkey`. */
export async function requireFactor(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>,
  userId: number,
  { code, passkey, ...origin }: PresentedFactor & { network: string; isKnownNetwork: boolean },
): Promise<VerifiedFactor | null> {
  const { db, clock } = deps
  const methods = await listFactorMethods(db, userId)
  if (methods.length === 0) return null
  // Signatures and recovery codes can't be guessed, so their owner can always use them.
  if (passkey !== undefined) return checkPasskey(deps, userId, passkey)
  if (code === undefined) throw await challenge(deps, userId, methods)
  if (!isAppCode(code)) return checkCode(deps, userId, code)
  const attempts = await countOnAccount(db, { key: `second-factor:${userId}`, ...origin }, limit, clock())
  const factor = await refundUnjudged(db, attempts, () => checkCode(deps, userId, code))
  await refundAttempts(db, attempts)
  return factor
}

/** The error `second_factor_required`, with a new challenge for the user's passkeys. */
async function challenge(
  { db, clock, config }: Pick<Services, 'db' | 'clock' | 'config'>,
  userId: number,
  methods: readonly FactorMethod[],
): Promise<ApplicationError> {
  if (!methods.includes('passkey')) return secondFactorRequired(methods)
  const options = await createRequestOptions(config, await listPasskeys(db, userId))
  const expiresAt = new Date(clock().getTime() + challengeMilliseconds)
  await insertChallenge(db, { text: options.challenge, userId, purpose: 'sign_in', expiresAt })
  return secondFactorRequired(methods, options)
}
