import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const algorithm = 'aes-256-gcm'
const nonceLength = 12
const tagLength = 16

/** Encrypts a user's secret for the database, under a key derived from the SECRET_KEY. Only this user's row can be decrypted. */
export function encryptSecret(secretKey: string, userId: number, secret: Buffer): Buffer {
  const nonce = randomBytes(nonceLength)
  const cipher = createCipheriv(algorithm, deriveKey(secretKey), nonce).setAAD(toContext(userId))
  const encrypted = Buffer.concat([cipher.update(secret), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted])
}

/** Decrypts a user's secret; null if it was encrypted under another key or for another user. */
export function decryptSecret(secretKey: string, userId: number, stored: Buffer): Buffer | null {
  const nonce = stored.subarray(0, nonceLength)
  const tag = stored.subarray(nonceLength, nonceLength + tagLength)
  try {
    const decipher = createDecipheriv(algorithm, deriveKey(secretKey), nonce, { authTagLength: tagLength })
    decipher.setAAD(toContext(userId)).setAuthTag(tag)
    return Buffer.concat([decipher.update(stored.subarray(nonceLength + tagLength)), decipher.final()])
  } catch {
    return null
  }
}

function deriveKey(secretKey: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, '', 'second-factor secrets', 32))
}

function toContext(userId: number): Buffer {
  return Buffer.from(`user:${userId}`)
}
