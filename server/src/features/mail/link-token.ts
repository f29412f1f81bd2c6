import { deriveKey } from '../../base/derive-key.ts'
import { hashToken } from '../../base/hash-token.ts'

/** What an emailed link is for. A link of one purpose is invalid for any other. */
export type LinkPurpose = 'invitation' | 'password_reset' | 'email_verification'

/**
 * Derives the 256-bit secret of an emailed link: an HMAC of the purpose and a random nonce under the server's
 * key. Each retry thus sends the same link, and the database alone does not reveal it.
 */
export function deriveLinkToken(secretKey: string, purpose: LinkPurpose, nonce: string): string {
  return deriveKey(secretKey, purpose, nonce).toString('base64url')
}

/**
 * Derives the secret of a stored link again. Throws if the link was created under another key; the email is
 * then retried until all server processes have the same SECRET_KEY.
 */
export function recoverLinkToken(
  secretKey: string,
  purpose: LinkPurpose,
  link: { nonce: string; token_hash: Buffer },
): string {
  const token = deriveLinkToken(secretKey, purpose, link.nonce)
  if (!hashToken(token).equals(link.token_hash)) {
    throw new Error(
      'the link was created under another key: set the same SECRET_KEY for all server processes',
    )
  }
  return token
}
