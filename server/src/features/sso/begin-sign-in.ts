import { randomBytes } from 'node:crypto'
import { hashToken } from '../accounts/link-token.ts'
import type { IdentityProvider } from '../../ports/identity-provider.ts'
import type { Services } from '../../services.ts'
import { insertFlow } from './store.ts'

/** How long a browser may take at the provider. */
export const flowSeconds = 600

export interface BegunSignIn {
  /** Where the browser goes next */
  authorizationUrl: URL
  /** 256 random bits for the cookie that binds the flow to the browser; only its SHA-256 is stored */
  flowToken: string
}

/** Begins a sign-in through the provider, plain or with an invitation to accept; null when the provider can't be reached. */
export async function beginSignIn(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  identityProvider: IdentityProvider,
  purpose: { returnTo: string; invitationTokenHash: Buffer | null },
): Promise<BegunSignIn | null> {
  const begun = await identityProvider.begin()
  if (begun === null) return null
  const flowToken = randomBytes(32).toString('base64url')
  await insertFlow(db, {
    cookie_hash: hashToken(flowToken),
    state_hash: hashToken(begun.state),
    nonce: begun.nonce,
    code_verifier: begun.codeVerifier,
    return_to: purpose.returnTo,
    invitation_token_hash: purpose.invitationTokenHash,
    expires_at: new Date(clock().getTime() + flowSeconds * 1000),
  })
  return { authorizationUrl: begun.url, flowToken }
}
