import { randomBytes } from 'node:crypto'
import { hashToken } from '../../base/hash-token.ts'
import type { IdentityProvider } from '../../ports/identity-provider.ts'
import type { Services } from '../../services.ts'
import { insertFlow } from './store.ts'

/** Time a user has to sign in at the provider. */
export const flowSeconds = 600

export interface PendingSignIn {
  /** The provider's page to redirect the browser to */
  authorizationUrl: URL
  /** 256 random bits for the cookie that binds the flow to the browser; only its SHA-256 is stored */
  flowToken: string
}

/** Starts an SSO sign-in, optionally to accept an invitation; null when the provider is unreachable. */
export async function startSignIn(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  identityProvider: IdentityProvider,
  purpose: { returnTo: string; invitationTokenHash: Buffer | null; asks: boolean },
): Promise<PendingSignIn | null> {
  const authorization = await identityProvider.begin(purpose)
  if (authorization === null) return null
  const flowToken = randomBytes(32).toString('base64url')
  await insertFlow(db, {
    cookie_hash: hashToken(flowToken),
    state_hash: hashToken(authorization.state),
    nonce: authorization.nonce,
    code_verifier: authorization.codeVerifier,
    return_to: purpose.returnTo,
    invitation_token_hash: purpose.invitationTokenHash,
    expires_at: new Date(clock().getTime() + flowSeconds * 1000),
  })
  return { authorizationUrl: authorization.url, flowToken }
}
