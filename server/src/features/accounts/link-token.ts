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

/** What is stored of a link's secret, and of a session's: its SHA-256. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
