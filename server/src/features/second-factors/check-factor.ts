import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { Services } from '../../services.ts'
import { decryptTotpSecret } from './totp-secret.ts'
import { invalidCode, invalidPasskey, unreadableSecret } from './errors.ts'
import { listPasskeys } from './passkey-store.ts'
import { hashRecoveryCode } from './recovery-codes.ts'
import { findTotp, hasRecoveryCode } from './store.ts'
import { findTotpStep } from './totp.ts'
import { verifySignature } from './webauthn.ts'

/** A verified second factor. It is valid once: the action's transaction must call `consumeFactor`. */
export type VerifiedFactor =
  | { method: 'totp'; step: number }
  | { method: 'recovery_code'; hash: Buffer }
  | VerifiedPasskey

export interface VerifiedPasskey {
  method: 'passkey'
  id: number
  challenge: string
  signCount: { from: number; to: number }
}

/** Checks a code of an authenticator app, or a recovery code, without consuming it. Throws `invalid_code`. */
export async function checkCode(
  { db, clock, secretKey }: Pick<Services, 'db' | 'clock' | 'secretKey'>,
  userId: number,
  code: string,
): Promise<VerifiedFactor> {
  if (!isAppCode(code)) {
    const hash = hashRecoveryCode(code)
    if (await hasRecoveryCode(db, userId, hash)) return { method: 'recovery_code', hash }
    throw invalidCode()
  }
  const factor = await findTotp(db, userId)
  if (factor === undefined) throw invalidCode()
  const secret = decryptTotpSecret(secretKey, userId, factor.secret)
  if (secret === null) throw unreadableSecret()
  const step = findTotpStep(secret, trimCode(code), clock())
  if (step === null || step <= factor.last_used_step) throw invalidCode()
  return { method: 'totp', step }
}

/** Checks the signature of a user's passkey, without consuming its challenge. Throws `invalid_passkey`. */
export async function checkPasskey(
  { db, config }: Pick<Services, 'db' | 'config'>,
  userId: number,
  response: AuthenticationResponseJSON,
): Promise<VerifiedPasskey> {
  const passkeys = await listPasskeys(db, userId)
  const passkey = passkeys.find((each) => each.credential_id === response.id)
  if (passkey === undefined) throw invalidPasskey()
  const verified = await verifySignature(config, passkey, response)
  if (verified === null) throw invalidPasskey()
  const { challenge, signCount } = verified
  return {
    method: 'passkey',
    id: passkey.id,
    challenge,
    signCount: { from: passkey.sign_count, to: signCount },
  }
}

/** True for an authenticator app's six digits, with or without spaces; others are recovery codes. */
export function isAppCode(code: string): boolean {
  return /^\d{6}$/.test(trimCode(code))
}

/** Apps show a code with a space in its middle. */
export function trimCode(code: string): string {
  return code.replaceAll(/\s/g, '')
}
