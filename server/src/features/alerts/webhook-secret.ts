import { createHmac, randomBytes } from 'node:crypto'

export function createNonce(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * Derives the signing secret of a webhook in the format of Standard Webhooks: `whsec_` and 32 bytes in
 * base64.
 */
export function deriveWebhookSecret(secretKey: string, nonce: string): string {
  return `whsec_${createHmac('sha256', secretKey).update(`webhook:${nonce}`).digest('base64')}`
}
