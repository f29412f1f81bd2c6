import { deriveKey } from '../../base/derive-key.ts'
import { hashToken } from '../../base/hash-token.ts'

/** What an emailed link is for. A link of one purpose is invalid for any other. */
export type LinkPurpose = 'invitation' | 'password_reset' | 'email_verification'

/** Derives an emailed link's secret: the same for each retry, and not revealed by the database alone. */
export function deriveLinkToken(secretKey: string, purpose: LinkPurpose, nonce: string): string {
  return deriveKey(secretKey, purpose, nonce).toString('base64url')
}

/** Derives a stored link's secret. Throws for another key; the email is retried until the keys agree. */
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
