import type { Database } from '../../../database/tables.ts'
import { ApplicationError } from '../../../errors.ts'
import type { Services } from '../../../services.ts'
import { decryptSecret } from './encrypt-secret.ts'
import { hashRecoveryCode } from './recovery-codes.ts'
import { findTotp, hasRecoveryCode, useRecoveryCode, useTotpStep } from './store.ts'
import { findTotpStep } from './totp.ts'

/** A second factor that a caller has shown. It counts once: `spendFactor` uses it up in the transaction of what it permits. */
export type ShownFactor = { method: 'totp'; step: number } | { method: 'recovery_code'; hash: Buffer }

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

/** Uses up a shown factor. Throws `invalid_code` if another request used it first. */
export async function spendFactor(db: Database, userId: number, shown: ShownFactor): Promise<void> {
  const isFirst =
    shown.method === 'totp'
      ? await useTotpStep(db, userId, shown.step)
      : await useRecoveryCode(db, userId, shown.hash)
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

export function isInvalidCode(error: unknown): boolean {
  return error instanceof ApplicationError && error.code === 'invalid_code'
}

/** The SECRET_KEY is not the one that the secret was encrypted with. */
export function unreadableSecret(): ApplicationError {
  const message =
    'This server lost the key of your authenticator app. Use a recovery code, or ask its operator to reset your second factor.'
  return new ApplicationError('unavailable', 'second_factor_unreadable', message)
}
