import type { Actor, Viewer } from '../../base/viewer.ts'
import type { Services } from '../../services.ts'
import { lockPassword } from '../accounts/account-password.ts'
import type { VerifiedFactor } from '../second-factors/check-factor.ts'
import { consumeSignInFactor } from '../second-factors/consume-factor.ts'
import { findViewer } from '../sessions/find-viewer.ts'
import { startSession } from '../sessions/start-session.ts'
import type { StartedSession } from '../sessions/start-session.ts'
import { invalidCredentials } from './errors.ts'

/**
 * Starts a session for a user whose password was right or is new, in place of the session with the token `replaces`. Throws
 * `invalid_credentials` if the password was reset since it was checked, `second_factor_required` if the user has a second factor
 * and none is given, and the errors of `startSession` and `consumeSignInFactor`.
 */
export async function startPasswordSession(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs'>,
  visitor: Actor,
  account: { userId: number; passwordHash: string; secondFactor?: VerifiedFactor | null },
  replaces: string | null,
): Promise<StartedSession & { viewer: Viewer }> {
  const { userId, passwordHash, secondFactor = null } = account
  const session = await deps.db.transaction().execute(async (transaction) => {
    const user = await lockPassword(transaction, userId, passwordHash)
    if (user === undefined) throw invalidCredentials()
    const started = await startSession(deps, transaction, visitor, {
      userId,
      authMethod: 'password',
      replaces,
      secondFactor: secondFactor?.method,
    })
    await consumeSignInFactor(deps, transaction, user, secondFactor)
    return started
  })
  const found = await findViewer(deps, session.token)
  // A concurrent password reset may have ended the new session already.
  if (found === null) throw invalidCredentials()
  return { ...session, viewer: found.viewer }
}
