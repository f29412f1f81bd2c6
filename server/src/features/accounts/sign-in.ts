import { createHash } from 'node:crypto'
import type { Database } from '../../database/tables.ts'
import { ApplicationError, RateLimitedError } from '../../errors.ts'
import type { Services } from '../../services.ts'
import { verifyPassword } from './passwords.ts'
import { countSignInAttempt, clearSignInAttempts, refundSignInAttempt } from './sign-in-rate-limits.ts'
import { findUserByEmail, foldEmail } from './store.ts'

/** Failures in 15 minutes, of all server processes together. */
const mostFailures = { account: 10, address: 100 }

/**
 * Checks an e-mail address and a password and returns whose they are. Every try counts as a failure until it has succeeded, so
 * that tries in parallel can't pass the limit; an unknown address takes as long and answers the same as a wrong password.
 */
export async function signIn(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  credentials: { email: string; password: string },
  address: string,
): Promise<{ userId: number; passwordHash: string }> {
  const now = clock()
  const account = accountKey(await foldEmail(db, credentials.email))
  const ofAddress = await countSignInAttempt(db, `sign-in-address:${address}`, mostFailures.address, now)
  const ofAccount = await countSignInAttempt(db, account, mostFailures.account, now).catch(
    async (error: unknown) => {
      // A try that nobody looked at failed for no one else at this address.
      if (error instanceof RateLimitedError) await refundSignInAttempt(db, ofAddress)
      throw error
    },
  )
  const user = await findUserByEmail(db, credentials.email)
  const matches = await verifyPassword(credentials.password, user?.password_hash ?? null)
  if (!user?.password_hash || !matches) throw invalidCredentials()
  await Promise.all([refundSignInAttempt(db, ofAddress), refundSignInAttempt(db, ofAccount)])
  return { userId: user.id, passwordHash: user.password_hash }
}

/** Forgets the failed sign-ins of an account. */
export async function clearFailedSignIns(db: Database, email: string): Promise<void> {
  await clearSignInAttempts(db, accountKey(await foldEmail(db, email)))
}

export function invalidCredentials(): ApplicationError {
  return new ApplicationError('unauthenticated', 'invalid_credentials', 'Invalid email or password.')
}

function accountKey(foldedEmail: string): string {
  return `sign-in-account:${createHash('sha256').update(foldedEmail).digest('base64url')}`
}
