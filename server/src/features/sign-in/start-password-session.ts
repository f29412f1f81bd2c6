import type { Actor, Viewer } from '../../base/viewer.ts'
import type { Services } from '../../services.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import { lockPassword } from '../accounts/account-password.ts'
import { lockExistingAccount } from '../accounts/lock-account.ts'
import type { VerifiedFactor } from '../second-factors/check-factor.ts'
import { consumeSignInFactor } from '../second-factors/consume-factor.ts'
import { findViewer } from '../sessions/find-viewer.ts'
import { startSession } from '../sessions/start-session.ts'
import type { StartedSession } from '../sessions/start-session.ts'
import { lockServicePassword } from '../service-members/passwords.ts'
import type { ServicePassword } from '../service-members/passwords.ts'
import { invalidCredentials } from './errors.ts'

/** A password that was right a moment ago: the hash of a person's, or a service member's. */
export type PasswordProof = { passwordHash: string } | ServicePassword

/**
 * Starts a session after a right or new password, in place of the one with the token `replaces`. Throws
 * `invalid_credentials` if the password has changed since, `second_factor_required` if a factor is missing,
 * and the errors of `startSession` and `consumeSignInFactor`.
 */
export async function startPasswordSession(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs'>,
  visitor: Actor,
  account: { userId: number; proof: PasswordProof; secondFactor?: VerifiedFactor | null },
  replaces: string | null,
): Promise<StartedSession & { viewer: Viewer }> {
  const { userId, proof, secondFactor = null } = account
  const session = await deps.db.transaction().execute(async (transaction) => {
    const user = await lockProof(transaction, userId, proof, deps.clock())
    if (user === undefined) throw invalidCredentials()
    const started = await startSession(deps, transaction, visitor, {
      userId,
      authMethod: 'password',
      replaces,
      secondFactor: secondFactor?.method,
      // A session ends with the password that started it.
      endsAt: 'digest' in proof ? proof.endsAt : null,
    })
    await consumeSignInFactor(deps, transaction, user, secondFactor)
    return started
  })
  const found = await findViewer(deps, session.token)
  // A concurrent password reset may have ended the new session already.
  if (found === null) throw invalidCredentials()
  return { ...session, viewer: found.viewer }
}

async function lockProof(
  transaction: DatabaseTransaction,
  userId: number,
  proof: PasswordProof,
  now: Date,
): Promise<{ userId: number; email: string } | undefined> {
  if (!('digest' in proof)) return lockPassword(transaction, userId, proof.passwordHash)
  // The account first, as a rotation does, to avoid a deadlock.
  const account = await lockExistingAccount(transaction, userId)
  if (account === undefined || !(await lockServicePassword(transaction, userId, proof, now))) return undefined
  return { userId, email: account.email }
}
