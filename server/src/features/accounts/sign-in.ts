import { createHash } from 'node:crypto'
import type { Database } from '../../database/tables.ts'
import { ApplicationError, RateLimitedError } from '../../errors.ts'
import { networkOf } from '../../network.ts'
import type { Services } from '../../services.ts'
import type { Actor } from '../../viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { isKnownNetwork } from './known-networks.ts'
import { verifyPassword } from './passwords.ts'
import { clearAttempts, countAttempt, refundAttempt } from './rate-limits.ts'
import { accountDisabled } from './set-disabled.ts'
import { findUserByEmail, foldEmail } from './store.ts'

const failures = {
  windowMilliseconds: 15 * 60_000,
  message: 'Too many failed sign-ins. Try again later.',
}
const limits = { account: { ...failures, attempts: 10 }, address: { ...failures, attempts: 100 } }

/**
 * Checks an email and a password and returns the user's id. Each attempt counts as failed until it succeeds, so that parallel
 * attempts cannot exceed the limit. An unknown email takes the same time and gives the same error as a wrong password. A disabled account throws `account_disabled`. A network
 * from which the user has signed in has a limit of its own, so that failures elsewhere don't lock its user out.
 */
export async function signIn(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  visitor: Actor,
  credentials: { email: string; password: string },
): Promise<{ userId: number; passwordHash: string }> {
  const now = clock()
  const network = networkOf(visitor.address ?? '')
  const account = accountKey(await foldEmail(db, credentials.email))
  const attempts = [await countAttempt(db, `sign-in-address:${network}`, limits.address, now)]
  const user = await findUserByEmail(db, credentials.email)
  const isKnown = await isKnownNetwork(db, user?.id, network, now)
  try {
    if (isKnown) attempts.push(await countAttempt(db, `${account}:${network}`, limits.account, now))
    attempts.push(await countAttempt(db, account, limits.account, now))
  } catch (error) {
    const isLockedElsewhere = isKnown && attempts.length === 2
    if (!(error instanceof RateLimitedError) || !isLockedElsewhere) {
      // The password was never checked, so the attempt must not count against other users of this network.
      if (error instanceof RateLimitedError) await refundAttempt(db, attempts[0]!)
      throw error
    }
  }
  const matches = await verifyPassword(credentials.password, user?.password_hash ?? null)
  if (!user?.password_hash || !matches) {
    await recordRefusedSignIn(db, visitor, user)
    throw invalidCredentials()
  }
  await Promise.all(attempts.map((attempt) => refundAttempt(db, attempt)))
  if (user.disabled_at !== null) {
    await recordRefusedSignIn(db, visitor, user)
    throw accountDisabled()
  }
  return { userId: user.id, passwordHash: user.password_hash }
}

/** An unknown email is not recorded: people type passwords into the wrong field. */
async function recordRefusedSignIn(
  db: Database,
  visitor: Actor,
  user: Awaited<ReturnType<typeof findUserByEmail>>,
): Promise<void> {
  await recordAction(db, visitor, 'session.sign_in_refused', {
    organizationId: user?.current_organization_id ?? null,
    target: user && { type: 'user', id: user.id, name: user.email },
    details: { auth_method: 'password' },
    result: 'refused',
  })
}

/** Resets the failed sign-ins of an account, from every network. */
export async function clearFailedSignIns(db: Database, email: string): Promise<void> {
  await clearAttempts(db, accountKey(await foldEmail(db, email)))
}

export function invalidCredentials(): ApplicationError {
  return new ApplicationError('unauthenticated', 'invalid_credentials', 'Invalid email or password.')
}

function accountKey(foldedEmail: string): string {
  return `sign-in-account:${createHash('sha256').update(foldedEmail).digest('base64url')}`
}
