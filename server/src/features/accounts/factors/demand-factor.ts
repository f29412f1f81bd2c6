import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import { ApplicationError } from '../../../errors.ts'
import type { Services } from '../../../services.ts'
import { countOnAccount, refundAttempt } from '../rate-limits.ts'
import type { RateLimit } from '../rate-limits.ts'
import { checkCode, checkPasskey, isAppCode } from './check-factor.ts'
import type { ShownFactor } from './check-factor.ts'
import { insertChallenge, listPasskeys } from './passkey-store.ts'
import { listFactorMethods } from './store.ts'
import type { FactorMethod } from './store.ts'
import { createSignInOptions } from './webauthn.ts'

/** Three of a million codes are right at any time: an attacker with the password gets in with 2 % probability a year. */
const limit: RateLimit = {
  attempts: 20,
  windowMilliseconds: 24 * 3_600_000,
  message: 'Too many wrong codes today. Use a recovery code, or try again later.',
}

/** How long a person may take between the two steps of a sign-in with a passkey. */
const challengeMilliseconds = 5 * 60_000

/** What a caller shows next to the password. */
export interface Shown {
  code?: string | undefined
  passkey?: AuthenticationResponseJSON | undefined
}

/**
 * Requires a second factor of a user whose password was right; null if the user has none. Throws `second_factor_required` if nothing is
 * shown, `invalid_code` and `invalid_passkey`.
 */
export async function demandFactor(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>,
  userId: number,
  { code, passkey, ...origin }: Shown & { network: string; isKnownNetwork: boolean },
): Promise<ShownFactor | null> {
  const { db, clock } = deps
  const methods = await listFactorMethods(db, userId)
  if (methods.length === 0) return null
  // Nobody guesses a signature or a recovery code, so their owner can always use them.
  if (passkey !== undefined) return checkPasskey(deps, userId, passkey)
  if (code === undefined) throw await challenge(deps, userId, methods)
  if (!isAppCode(code)) return checkCode(deps, userId, code)
  const attempts = await countOnAccount(db, { key: `second-factor:${userId}`, ...origin }, limit, clock())
  const shown = await checkCode(deps, userId, code)
  await Promise.all(attempts.map((attempt) => refundAttempt(db, attempt)))
  return shown
}

/** The error `second_factor_required`, with a new challenge for the user's passkeys. */
async function challenge(
  { db, clock, config }: Pick<Services, 'db' | 'clock' | 'config'>,
  userId: number,
  methods: readonly FactorMethod[],
): Promise<ApplicationError> {
  if (!methods.includes('passkey')) return secondFactorRequired(methods)
  const options = await createSignInOptions(config, await listPasskeys(db, userId))
  const expiresAt = new Date(clock().getTime() + challengeMilliseconds)
  await insertChallenge(db, { text: options.challenge, userId, purpose: 'sign_in', expiresAt })
  return secondFactorRequired(methods, options)
}

/** The password was right, and the sign-in needs one of the methods in addition. */
export function secondFactorRequired(
  methods: readonly FactorMethod[],
  passkeyOptions?: object,
): ApplicationError {
  const message = 'Enter the code of your authenticator app or a recovery code, or use a passkey.'
  const facts = { second_factors: methods, ...(passkeyOptions && { passkey_options: passkeyOptions }) }
  return new ApplicationError('unauthenticated', 'second_factor_required', message, { facts })
}

export function isFactorRequired(error: unknown): boolean {
  return error instanceof ApplicationError && error.code === 'second_factor_required'
}
