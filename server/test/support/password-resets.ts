import { randomBytes } from 'node:crypto'
import { hashToken } from '../../src/base/hash-token.ts'
import { deriveLinkToken } from '../../src/features/mail/link-token.ts'
import { replaceReset } from '../../src/features/sign-in/password-reset-store.ts'
import type { TestServer } from './server.ts'

/** Adds a password reset that is valid for an hour and returns the token of its link. */
export async function insertReset({ application }: TestServer, userId: number): Promise<string> {
  const { db, clock, secretKey } = application
  const nonce = randomBytes(32).toString('base64url')
  const token = deriveLinkToken(secretKey, 'password_reset', nonce)
  const at = clock()
  const expiresAt = new Date(at.getTime() + 3_600_000)
  await replaceReset(db, { userId, nonce, tokenHash: hashToken(token), at, expiresAt })
  return token
}
