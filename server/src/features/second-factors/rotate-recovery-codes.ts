import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { recordAction } from '../audit/record-action.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { noSecondFactor } from './errors.ts'
import { reauthenticate } from './reauthenticate.ts'
import type { Reauthentication } from './reauthenticate.ts'
import { generateRecoveryCodes, hashRecoveryCode } from './recovery-codes.ts'
import { hasSecondFactor, replaceRecoveryCodes } from './store.ts'

/** Rotates the viewer's recovery codes and returns the new ones. Throws `no_second_factor`. */
export async function rotateRecoveryCodes(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'secretKey'>,
  viewer: Viewer,
  proof: Reauthentication,
): Promise<string[]> {
  const { userId, email } = viewer
  const consume = await reauthenticate(deps, viewer, proof, 'user.recovery_codes_rotated')
  return deps.db.transaction().execute(async (transaction) => {
    await lockAccount(transaction, userId)
    await consume(transaction)
    if (!(await hasSecondFactor(transaction, userId))) throw noSecondFactor()
    await queueMail(deps, transaction, {
      kind: 'recovery_codes_rotated',
      subjectId: userId,
      recipient: email,
    })
    const target = { type: 'user', id: userId, name: email } as const
    await recordAction(transaction, viewer, 'user.recovery_codes_rotated', { target })
    return issueRecoveryCodes(transaction, userId)
  })
}

/** Generates recovery codes in place of a user's earlier ones. Only their hashes are stored. */
export async function issueRecoveryCodes(
  transaction: DatabaseTransaction,
  userId: number,
): Promise<string[]> {
  const codes = generateRecoveryCodes()
  await replaceRecoveryCodes(transaction, userId, codes.map(hashRecoveryCode))
  return codes
}
