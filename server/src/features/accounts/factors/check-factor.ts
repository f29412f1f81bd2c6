import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { DatabaseTransaction } from '../../../database/tables.ts'
import { ApplicationError } from '../../../errors.ts'
import type { Services } from '../../../services.ts'
import { decryptSecret } from './encrypt-secret.ts'
import { advancePasskey, consumeChallenge, listPasskeys } from './passkey-store.ts'
import { hashRecoveryCode } from './recovery-codes.ts'
import { findTotp, hasRecoveryCode, useRecoveryCode, useTotpStep } from './store.ts'
import { findTotpStep } from './totp.ts'
import { verifySignature } from './webauthn.ts'

/** A second factor that a caller has shown. It counts once: `spendFactor` uses it up in the transaction of what it permits. */
export type ShownFactor =
  | { method: 'totp'; step: number }
  | { method: 'recovery_code'; hash: Buffer }
  | { method: 'passkey'; id: number; challenge: string; signCount: { from: number; to: number } }

/** Checks a code of an authenticator app, or a recovery code, without using it up. Throws `invalid_code`. */
export async function checkCode(
  { db, clock, secretKey }: Pick<Services, 'db' | 'clock' | 'secretKey'>,
  userId: number,
  code: string,
): Promise<ShownFactor> {
  if (!isAppCode(code)) {
    const hash = hashRecoveryCode(code)
    if (await hasRecoveryCode(db, userId, hash)) return { method: 'recovery_code', hash }
    throw invalidCode()
  }
  const factor = await findTotp(db, userId)
  if (factor === undefined) throw invalidCode()
  const secret = decryptSecret(secretKey, userId, factor.secret)
  if (secret === null) throw unreadableSecret()
  const step = findTotpStep(secret, trimCode(code), clock())
  if (step === null || step <= factor.last_used_step) throw invalidCode()
  return { method: 'totp', step }
}

/** Checks the signature of a user's passkey, without using its challenge up. Throws `invalid_passkey`. */
export async function checkPasskey(
  { db, config }: Pick<Services, 'db' | 'config'>,
  userId: number,
  response: AuthenticationResponseJSON,
): Promise<ShownFactor> {
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

/** Uses up a shown factor. Throws `invalid_code` and `invalid_passkey`, also if another request used it first. */
export async function spendFactor(
  transaction: DatabaseTransaction,
  userId: number,
  shown: ShownFactor,
  at: Date,
): Promise<void> {
  if (shown.method === 'passkey') {
    const { id, challenge: text, signCount } = shown
    const isOpen = await consumeChallenge(transaction, { text, userId, purpose: 'sign_in', at })
    if (!isOpen || !(await advancePasskey(transaction, id, { ...signCount, at }))) throw invalidPasskey()
    return
  }
  const isFirst =
    shown.method === 'totp'
      ? await useTotpStep(transaction, userId, shown.step)
      : await useRecoveryCode(transaction, userId, shown.hash)
  if (!isFirst) throw invalidCode()
}

/** True for the six digits of an authenticator app, which may have spaces. Any other code is taken for a recovery code. */
export function isAppCode(code: string): boolean {
  return /^\d{6}$/.test(trimCode(code))
}

/** Apps show a code with a space in its middle. */
export function trimCode(code: string): string {
  return code.replaceAll(/\s/g, '')
}

export function invalidCode(): ApplicationError {
  const message = 'This code is wrong or was already used. Enter the code that your app shows now.'
  return new ApplicationError('unauthenticated', 'invalid_code', message)
}

export function invalidPasskey(): ApplicationError {
  const message = 'The passkey was not accepted. Try again.'
  return new ApplicationError('unauthenticated', 'invalid_passkey', message)
}

/** Whether a wrong factor was shown. */
export function isInvalidFactor(error: unknown): boolean {
  return error instanceof ApplicationError && ['invalid_code', 'invalid_passkey'].includes(error.code)
}

/** The SECRET_KEY is not the one that the secret was encrypted with. */
export function unreadableSecret(): ApplicationError {
  const message =
    'This server lost the key of your authenticator app. Use a recovery code, or ask its operator to reset your second factor.'
  return new ApplicationError('unavailable', 'second_factor_unreadable', message)
}
