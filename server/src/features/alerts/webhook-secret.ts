import { randomBytes } from 'node:crypto'
import { deriveKey } from '../../base/derive-key.ts'

export function createNonce(): string {
  return randomBytes(32).toString('base64url')
}

/** Derives a signing secret in the format of Standard Webhooks: `whsec_` and 32 bytes in base64. */
export function deriveWebhookSecret(secretKey: string, nonce: string): string {
  return `whsec_${deriveKey(secretKey, 'webhook', nonce).toString('base64')}`
}
