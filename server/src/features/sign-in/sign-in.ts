import { createHash } from 'node:crypto'
import type { Database } from '../../database/tables.ts'
import { RateLimitedError } from '../../base/errors.ts'
import { networkOf } from '../../base/network.ts'
import type { Services } from '../../services.ts'
import type { Actor } from '../../base/viewer.ts'
import { findAccountByEmail, foldEmail } from '../accounts/find-account.ts'
import { isKnownNetwork } from '../accounts/known-networks.ts'
import { verifyPassword } from '../accounts/passwords.ts'
import { clearAttempts, countAttempt, countOnAccount, refundAttempt } from '../accounts/rate-limits.ts'
import { accountDisabled } from '../accounts/set-disabled.ts'
import { recordAction } from '../audit/record-action.ts'
import type { VerifiedFactor } from '../second-factors/check-factor.ts'
import { isFactorRequired, isInvalidFactor } from '../second-factors/errors.ts'
import { requireFactor } from '../second-factors/require-factor.ts'
import type { PresentedFactor } from '../second-factors/require-factor.ts'
import { invalidCredentials } from './errors.ts'

const failures = {
  windowMilliseconds: 15 * 60_000,
  message: 'Too many failed sign-ins. Try again later.',
}
const limits = { account: { ...failures, attempts: 10 }, address: { ...failures, attempts: 100 } }

/**
 * Checks an email, a password and, for an account with a second factor, a code or passkey of it. Each attempt counts as
 * failed until it succeeds, so that parallel attempts cannot exceed the limit. An unknown email takes the same time and
 * gives the same error as a wrong password. Throws `account_disabled`, `second_factor_required`, `invalid_code` and
 * `invalid_passkey` for a right password only.
 */
export async function signIn(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>,
  visitor: Actor,
  { email, password, ...presented }: { email: string; password: string } & PresentedFactor,
): Promise<{ userId: number; passwordHash: string; secondFactor: VerifiedFactor | null }> {
  const { db, clock } = deps
  const now = clock()
  const network = networkOf(visitor.address ?? '')
  const key = accountKey(await foldEmail(db, email))
  const onNetwork = await countAttempt(db, `sign-in-address:${network}`, limits.address, now)
  const user = await findAccountByEmail(db, email)
  const origin = { network, isKnownNetwork: await isKnownNetwork(db, user?.id, network, now) }
  const onAccount = await countOnAccount(db, { key, ...origin }, limits.account, now).catch(
    async (error: unknown) => {
      // The password was never checked, so the attempt must not count against other users of this network.
      if (error instanceof RateLimitedError) await refundAttempt(db, onNetwork)
      throw error
    },
  )
  const matches = await verifyPassword(password, user?.password_hash ?? null)
  if (!user?.password_hash || !matches) {
    await recordRefusedSignIn(db, visitor, user)
    throw invalidCredentials()
  }
  await Promise.all(onAccount.map((attempt) => refundAttempt(db, attempt)))
  if (user.disabled_at !== null) {
    await refundAttempt(db, onNetwork)
    await recordRefusedSignIn(db, visitor, user)
    throw accountDisabled()
  }
  const { id: userId, password_hash: passwordHash } = user
  try {
    const secondFactor = await requireFactor(deps, userId, { ...presented, ...origin })
    await refundAttempt(db, onNetwork)
    return { userId, passwordHash, secondFactor }
  } catch (error) {
    // A wrong factor still counts against the network.
    if (isInvalidFactor(error)) await recordRefusedSignIn(db, visitor, user, 'second_factor')
    else await refundAttempt(db, onNetwork)
    if (isFactorRequired(error)) await recordRequestedFactor(db, visitor, user)
    throw error
  }
}

/** An unknown email is not recorded: people type passwords into the wrong field. */
async function recordRefusedSignIn(
  db: Database,
  visitor: Actor,
  user: Awaited<ReturnType<typeof findAccountByEmail>>,
  step: 'password' | 'second_factor' = 'password',
): Promise<void> {
  await recordAction(db, visitor, 'session.sign_in_refused', {
    organizationId: user?.current_organization_id ?? null,
    target: user && { type: 'user', id: user.id, name: user.email },
    details: { auth_method: 'password', ...(step === 'password' ? {} : { step }) },
    result: 'refused',
  })
}

/** Shows the owner that somebody has the password, even if they stop here. */
async function recordRequestedFactor(
  db: Database,
  visitor: Actor,
  user: { id: number; email: string; current_organization_id: number },
): Promise<void> {
  await recordAction(db, visitor, 'session.second_factor_requested', {
    organizationId: user.current_organization_id,
    target: { type: 'user', id: user.id, name: user.email },
  })
}

/** Resets the failed sign-ins of an account, from every network. */
export async function clearFailedSignIns(db: Database, email: string): Promise<void> {
  await clearAttempts(db, accountKey(await foldEmail(db, email)))
}

function accountKey(foldedEmail: string): string {
  return `sign-in-account:${createHash('sha256').update(foldedEmail).digest('base64url')}`
}
