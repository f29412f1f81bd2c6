import { ApplicationError } from '../../base/errors.ts'
import type { Actor } from '../../base/viewer.ts'
import type { IdentityProvider } from '../../ports/identity-provider.ts'
import type { Services } from '../../services.ts'
import { identifyActor } from '../accounts/identify-actor.ts'
import { recordAction } from '../audit/record-action.ts'
import { deleteSessions } from '../sessions/delete-sessions.ts'
import { listSsoSessions } from './store.ts'

/** Ends the sessions of a logout token. Throws `invalid_logout_token` and `sso_unavailable`. */
export async function endProviderSessions(
  { db, log }: Pick<Services, 'db' | 'log'>,
  identityProvider: IdentityProvider,
  visitor: Actor,
  token: string,
): Promise<void> {
  const result = await identityProvider.verifyLogout(token)
  if (result.outcome !== 'verified') {
    const { outcome, detail } = result
    log.warn({ outcome, detail }, 'logout token not accepted')
    throw outcome === 'invalid'
      ? new ApplicationError('invalid_logout_token', 'The logout token is invalid.')
      : new ApplicationError('sso_unavailable', 'The identity provider is unreachable.', 60)
  }
  await db.transaction().execute(async (transaction) => {
    let sessions = await listSsoSessions(transaction, result)
    while (sessions.length > 0) {
      for (const { id, userId } of sessions) {
        await deleteSessions(transaction, userId, { id })
        const actor = await identifyActor(transaction, visitor, userId)
        const target = { type: 'session', id } as const
        await recordAction(transaction, actor, 'session.ended', { target, details: { by: 'provider' } })
      }
      // Meanwhile, one of them may have created a session for a script.
      sessions = await listSsoSessions(transaction, result)
    }
  })
}
