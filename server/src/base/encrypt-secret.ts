import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { deriveKey } from './derive-key.ts'
import type { KeyPurpose } from './derive-key.ts'

const algorithm = 'aes-256-gcm'
const nonceLength = 12
const tagLength = 16

/** The purpose of a secret, and the row that holds it, such as `user:7`. */
export interface SecretUse {
  purpose: Extract<
    KeyPurpose,
    'second-factor secrets' | 'hub tokens' | 'endpoint keys' | 'id tokens' | 'repeated responses'
  >
  owner: string
}

/** Encrypts a secret for the database by the SECRET_KEY. Only the same `use` can decrypt it. */
export function encryptSecret(secretKey: string, use: SecretUse, secret: Buffer): Buffer {
  const nonce = randomBytes(nonceLength)
  const key = deriveKey(secretKey, use.purpose)
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(use.owner))
  const encrypted = Buffer.concat([cipher.update(secret), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted])
}

/** Decrypts a secret; null if it was encrypted under another key or for another use. */
export function decryptSecret(secretKey: string, use: SecretUse, stored: Buffer): Buffer | null {
  const nonce = stored.subarray(0, nonceLength)
  const tag = stored.subarray(nonceLength, nonceLength + tagLength)
  try {
    const key = deriveKey(secretKey, use.purpose)
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagLength })
    decipher.setAAD(Buffer.from(use.owner)).setAuthTag(tag)
    return Buffer.concat([decipher.update(stored.subarray(nonceLength + tagLength)), decipher.final()])
  } catch {
    return null
  }
}
