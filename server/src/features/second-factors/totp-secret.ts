import { decryptSecret, encryptSecret } from '../../base/encrypt-secret.ts'
import type { SecretUse } from '../../base/encrypt-secret.ts'

/** Encrypts the secret of a user's authenticator app. */
export function encryptTotpSecret(secretKey: string, userId: number, secret: Buffer): Buffer {
  return encryptSecret(secretKey, toUse(userId), secret)
}

/** Decrypts the secret of a user's app; null if it was encrypted under another key or user. */
export function decryptTotpSecret(secretKey: string, userId: number, stored: Buffer): Buffer | null {
  return decryptSecret(secretKey, toUse(userId), stored)
}

function toUse(userId: number): SecretUse {
  return { purpose: 'second-factor secrets', owner: `user:${userId}` }
}
