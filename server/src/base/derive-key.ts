import { createHmac } from 'node:crypto'

/** The purposes of secrets that are derived from the SECRET_KEY */
export type KeyPurpose =
  | 'cache-salt'
  | 'cluster'
  | 'email_verification'
  | 'endpoint keys'
  | 'engine'
  | 'fingerprint'
  | 'hub tokens'
  | 'id tokens'
  | 'idempotency'
  | 'installation'
  | 'invitation'
  | 'model-file'
  | 'password_reset'
  | 'prefix-routing'
  | 'repeated responses'
  | 'second-factor secrets'
  | 'webhook'

/** Derives 32 bytes from the SECRET_KEY for a purpose and, if given, one subject, such as a deployment. */
export function deriveKey(secretKey: string, purpose: KeyPurpose, subject?: string | number): Buffer {
  return createHmac('sha256', secretKey)
    .update(subject === undefined ? purpose : `${purpose}:${subject}`)
    .digest()
}
