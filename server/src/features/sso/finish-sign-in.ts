import type { IdentityProvider } from '../../ports/identity-provider.ts'
import type { Services } from '../../services.ts'
import type { Actor } from '../../base/viewer.ts'
import { hashToken } from '../../base/hash-token.ts'
import { recordAction } from '../audit/record-action.ts'
import { startSession } from '../sessions/start-session.ts'
import type { StartedSession } from '../sessions/start-session.ts'
import { SsoRefusal } from './errors.ts'
import type { SsoErrorCode } from './errors.ts'
import { signInIdentity } from './sign-in-identity.ts'
import { encryptIdToken } from './id-token.ts'
import { claimFlow } from './store.ts'

export type SignInResult = { session: StartedSession; returnTo: string } | { error: SsoErrorCode }

const refusals = { denied: 'sso_denied', failed: 'sso_failed', unavailable: 'sso_unavailable' } as const

/** Characters of an ID token that still fits into an address of the provider */
const maxKeptToken = 6_000

/**
 * Finishes an SSO sign-in and starts a session in place of the one with the token `replaces`. Deletes the
 * flow before it exchanges the code, so that a callback works only once; an unknown state deletes none.
 */
export async function finishSignIn(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'secretKey'>,
  identityProvider: IdentityProvider,
  visitor: Actor,
  callback: { flowToken: string | null; state: string | null; query: string },
  session: { authMethod: string; replaces: string | null },
): Promise<SignInResult> {
  const { db, clock, log } = deps
  const { flowToken, state, query } = callback
  if (flowToken === null || state === null) return { error: 'sso_flow_expired' }
  const key = { cookieHash: hashToken(flowToken), stateHash: hashToken(state) }
  const flow = await claimFlow(db, key, clock())
  if (flow === undefined) return { error: 'sso_flow_expired' }
  const result = await identityProvider.complete(query, {
    state,
    nonce: flow.nonce,
    codeVerifier: flow.code_verifier,
  })
  if (result.outcome !== 'identified') {
    const { outcome, detail, providerError } = result
    log.warn({ outcome, detail, ...providerError }, 'SSO sign-in failed')
    return refuse(deps, visitor, refusals[outcome])
  }
  try {
    const { identity, sessionId: sid } = result
    const { issuer, subject } = identity
    if (identity.groups === null && deps.config.sso?.groupsClaim != null) {
      log.warn(
        'The provider has too many groups of a person to send, so their role stays. Let it send only the groups of this client.',
      )
    }
    const endsAt = limitSession(deps, result.expiresAt)
    const keep = (sessionId: number) =>
      result.idToken.length > maxKeptToken ? null : encryptIdToken(deps, sessionId, result.idToken)
    const started = await signInIdentity(
      deps,
      visitor,
      identity,
      flow.invitation_token_hash,
      async (transaction, userId) => {
        const own = await startSession(deps, transaction, visitor, { ...session, userId, endsAt })
        await transaction
          .insertInto('sso_sessions')
          .values({ session_id: own.id, user_id: userId, issuer, subject, sid, id_token: keep(own.id) })
          .execute()
        return own
      },
    )
    return { session: started, returnTo: flow.return_to }
  } catch (error) {
    if (!(error instanceof SsoRefusal)) throw error
    const advice = adviceOf(error.code)
    if (advice !== null)
      log.warn({ code: error.code, claims: result.claims }, `SSO sign-in refused: ${advice}`)
    return refuse(deps, visitor, error.code)
  }
}

/** The provider's limit, if passwords are disabled: sessions must end when the account there ends. */
function limitSession({ clock, config }: Pick<Services, 'clock' | 'config'>, tokenExpiry: Date): Date | null {
  const { sso } = config
  if (sso === null || !sso.only) return null
  return sso.sessionMilliseconds === null
    ? tokenExpiry
    : new Date(clock().getTime() + sso.sessionMilliseconds)
}

/** What the operator can do about a refusal; null for those that the person can end. */
function adviceOf(code: SsoErrorCode): string | null {
  switch (code) {
    case 'sso_email_missing':
      return 'no claim has an address. OIDC_EMAIL_CLAIM names the claims that may have one, such as email,preferred_username,upn'
    case 'sso_email_unverified':
      return 'an account has this address, and the provider does not say that the person owns it (email_verified). If it sends only addresses that it gave out, set OIDC_EMAIL_VERIFIED=trusted'
    default:
      return null
  }
}

/** Records a refusal, but not without a flow, because every visitor may call the callback. */
async function refuse(
  { db }: Pick<Services, 'db'>,
  visitor: Actor,
  error: SsoErrorCode,
): Promise<{ error: SsoErrorCode }> {
  await recordAction(db, visitor, 'session.sign_in_refused', { details: { code: error }, result: 'refused' })
  return { error }
}
