import { createHash } from 'node:crypto'

/** The SHA-256 of a random token. Only this hash is stored. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
