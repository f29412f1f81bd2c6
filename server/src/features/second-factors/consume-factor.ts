import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { queueMail } from '../mail/queue-mail.ts'
import type { VerifiedFactor, VerifiedPasskey } from './check-factor.ts'
import { invalidCode, invalidPasskey, secondFactorRequired } from './errors.ts'
import { advancePasskey, consumeChallenge } from './passkey-store.ts'
import type { ChallengePurpose } from './passkey-store.ts'
import { consumeRecoveryCode, consumeTotpStep, listFactorMethods } from './store.ts'

/** Throws `invalid_code` or `invalid_passkey` if another request consumed the factor first. */
export async function consumeFactor(
  transaction: DatabaseTransaction,
  userId: number,
  factor: VerifiedFactor,
  at: Date,
): Promise<void> {
  if (factor.method === 'passkey')
    return consumePasskey(transaction, userId, factor, at, { purpose: 'sign_in' })
  const isFirst =
    factor.method === 'totp'
      ? await consumeTotpStep(transaction, userId, factor.step)
      : await consumeRecoveryCode(transaction, userId, factor.hash)
  if (!isFirst) throw invalidCode()
}

/** Throws `invalid_passkey` if the challenge has another purpose, or another request consumed it first. */
export async function consumePasskey(
  transaction: DatabaseTransaction,
  userId: number,
  { id, challenge: text, signCount }: VerifiedPasskey,
  at: Date,
  purpose: ChallengePurpose,
): Promise<void> {
  const isOpen = await consumeChallenge(transaction, { text, userId, at, ...purpose })
  if (!isOpen || !(await advancePasskey(transaction, id, { ...signCount, at }))) throw invalidPasskey()
}

/**
 * Consumes the second factor of a password sign-in. The account must be locked, so that a factor that was
 * just added counts. Throws `second_factor_required` if none is presented, and the errors of `consumeFactor`.
 */
export async function consumeSignInFactor(
  deps: Pick<Services, 'clock' | 'config' | 'jobs'>,
  transaction: DatabaseTransaction,
  { userId, email }: { userId: number; email: string },
  factor: VerifiedFactor | null,
): Promise<void> {
  if (factor === null) {
    const methods = await listFactorMethods(transaction, userId)
    if (methods.length > 0) throw secondFactorRequired(methods)
    return
  }
  await consumeFactor(transaction, userId, factor, deps.clock())
  if (factor.method === 'recovery_code') {
    await queueMail(deps, transaction, { kind: 'recovery_code_used', subjectId: userId, recipient: email })
  }
}
