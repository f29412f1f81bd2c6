import { createHash } from 'node:crypto'
import type pg from 'pg'
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'
import type { Application } from '../../application.ts'
import { ApplicationError, RateLimitedError } from '../../errors.ts'
import { verifyPassword } from './passwords.ts'
import { findUserByEmail } from './store.ts'

const windowSeconds = 15 * 60

/** Counters of failed sign-ins, shared by all server processes. */
export interface SignInLimits {
  account: RateLimiterPostgres
  address: RateLimiterPostgres
}

/** At most 10 failures for an account and 100 for an address in 15 minutes. */
export function createSignInLimits(pool: pg.Pool): SignInLimits {
  const shared = {
    storeClient: pool,
    storeType: 'pool',
    tableName: 'rate_limits',
    tableCreated: true,
    clearExpiredByTimeout: false,
    duration: windowSeconds,
  }
  return {
    account: new RateLimiterPostgres({ ...shared, keyPrefix: 'sign-in-account', points: 10 }),
    address: new RateLimiterPostgres({ ...shared, keyPrefix: 'sign-in-address', points: 100 }),
  }
}

/**
 * Checks an e-mail address and a password and returns whose they are. Every try counts as a failure until it has succeeded, so
 * that tries in parallel can't pass the limit; an unknown address takes as long and answers the same as a wrong password.
 */
export async function signIn(
  { db, signInLimits }: Pick<Application, 'db' | 'signInLimits'>,
  credentials: { email: string; password: string },
  address: string,
): Promise<{ userId: number; passwordHash: string }> {
  const account = accountKey(credentials.email)
  await countTry(signInLimits.address, address)
  await countTry(signInLimits.account, account)
  const user = await findUserByEmail(db, credentials.email)
  const matches = await verifyPassword(credentials.password, user?.password_hash ?? null)
  if (!user?.password_hash || !matches) throw invalidCredentials()
  await Promise.all([signInLimits.address.reward(address), signInLimits.account.reward(account)])
  return { userId: user.id, passwordHash: user.password_hash }
}

/** Forgets the failed sign-ins of an account. */
export async function forgiveFailures({ account }: SignInLimits, email: string): Promise<void> {
  await account.delete(accountKey(email))
}

export function invalidCredentials(): ApplicationError {
  return new ApplicationError('unauthenticated', 'invalid_credentials', 'Invalid email or password.')
}

function accountKey(email: string): string {
  return createHash('sha256').update(email.toLowerCase()).digest('base64url')
}

async function countTry(limiter: RateLimiterPostgres, key: string): Promise<void> {
  try {
    await limiter.consume(key)
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal
    throw new RateLimitedError(refusal.msBeforeNext / 1000, 'Too many failed sign-ins. Try again later.')
  }
}
