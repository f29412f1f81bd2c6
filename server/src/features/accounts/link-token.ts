import { createHash, createHmac } from 'node:crypto'

/**
 * The secret of a link in a mail, 256 bits: an HMAC of the server's key over what the link is for and a random nonce, so that
 * every attempt to send it yields the same link and the database holds nothing that opens it.
 */
export function deriveLinkToken(
  secretKey: string,
  purpose: 'invitation' | 'password_reset',
  nonce: string,
): string {
  return createHmac('sha256', secretKey).update(`${purpose}:${nonce}`).digest('base64url')
}

/**
 * The secret of a link whose nonce and hash are stored, for a mail. Throws where the link was made under another key: such a
 * mail waits until all server processes have the same SECRET_KEY.
 */
export function recoverLinkToken(
  secretKey: string,
  purpose: 'invitation' | 'password_reset',
  link: { nonce: string; token_hash: Buffer },
): string {
  const token = deriveLinkToken(secretKey, purpose, link.nonce)
  if (!hashToken(token).equals(link.token_hash)) {
    throw new Error('a link was made under another key: give all server processes the same SECRET_KEY')
  }
  return token
}

/** What is stored of a link's secret, and of a session's: its SHA-256. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
