import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { queueMail } from '../mail/queue-mail.ts'
import type { VerifiedFactor } from './check-factor.ts'
import { invalidCode, invalidPasskey, secondFactorRequired } from './errors.ts'
import { advancePasskey, consumeChallenge } from './passkey-store.ts'
import { consumeRecoveryCode, consumeTotpStep, listFactorMethods } from './store.ts'

/**
 * Consumes a verified factor. Throws `invalid_code` or `invalid_passkey` if another request consumed it
 * first.
 */
export async function consumeFactor(
  transaction: DatabaseTransaction,
  userId: number,
  factor: VerifiedFactor,
  at: Date,
): Promise<void> {
  if (factor.method === 'passkey') {
    const { id, challenge: text, signCount } = factor
    const isOpen = await consumeChallenge(transaction, { text, userId, purpose: 'sign_in', at })
    if (!isOpen || !(await advancePasskey(transaction, id, { ...signCount, at }))) throw invalidPasskey()
    return
  }
  const isFirst =
    factor.method === 'totp'
      ? await consumeTotpStep(transaction, userId, factor.step)
      : await consumeRecoveryCode(transaction, userId, factor.hash)
  if (!isFirst) throw invalidCode()
}

/**
 * Consumes the second factor of a user who signs in with a password. Their account must be locked, so that a
 * factor that another request just added counts too. Throws `second_factor_required` for a user who has a
 * second factor and presented none, and the errors of `consumeFactor`.
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
