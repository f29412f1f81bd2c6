import type { IdentityProvider } from '../../ports/identity-provider.ts'
import type { Services } from '../../services.ts'
import type { Actor } from '../../viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { hashToken } from '../accounts/link-token.ts'
import { findOrCreateAccount } from './find-or-create-account.ts'
import { SsoRefusal } from './errors.ts'
import type { SsoErrorCode } from './errors.ts'
import { claimFlow } from './store.ts'

export type SignInResult = { userId: number; returnTo: string } | { error: SsoErrorCode }

const refusals = { denied: 'sso_denied', failed: 'sso_failed', unavailable: 'sso_unavailable' } as const

/**
 * Finishes an SSO sign-in with the flow cookie and the callback's query, and returns the user's id. The flow is deleted before
 * the code is exchanged, so that a callback works only once. An unknown state deletes no flow.
 */
export async function finishSignIn(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log'>,
  identityProvider: IdentityProvider,
  visitor: Actor,
  callback: { flowToken: string | null; state: string | null; query: string },
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
    const userId = await findOrCreateAccount(deps, visitor, result.identity, flow.invitation_token_hash)
    return { userId, returnTo: flow.return_to }
  } catch (error) {
    if (error instanceof SsoRefusal) return refuse(deps, visitor, error.code)
    throw error
  }
}

/** Records a refusal. Without a flow nothing is recorded: anyone may call the callback. */
async function refuse(
  { db }: Pick<Services, 'db'>,
  visitor: Actor,
  error: SsoErrorCode,
): Promise<{ error: SsoErrorCode }> {
  await recordAction(db, visitor, 'session.sign_in_refused', { details: { code: error }, result: 'refused' })
  return { error }
}
