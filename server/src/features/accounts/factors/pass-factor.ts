import type { DatabaseTransaction } from '../../../database/tables.ts'
import type { Services } from '../../../services.ts'
import { queueMail } from '../../mail/queue-mail.ts'
import { spendFactor } from './check-factor.ts'
import type { ShownFactor } from './check-factor.ts'
import { secondFactorRequired } from './demand-factor.ts'
import { listFactorMethods } from './store.ts'

/**
 * Uses up the second factor of a user who signs in with a password. Their account must be locked, so that a factor that another
 * request just set up counts too. Throws `second_factor_required`, and
 * `invalid_code` or `invalid_passkey` if another request used the factor first.
 */
export async function passFactor(
  deps: Pick<Services, 'clock' | 'config' | 'jobs'>,
  transaction: DatabaseTransaction,
  { userId, email }: { userId: number; email: string },
  shown: ShownFactor | null,
): Promise<void> {
  if (shown === null) {
    const methods = await listFactorMethods(transaction, userId)
    if (methods.length > 0) throw secondFactorRequired(methods)
    return
  }
  await spendFactor(transaction, userId, shown, deps.clock())
  if (shown.method === 'recovery_code') {
    await queueMail(deps, transaction, { kind: 'recovery_code_used', subjectId: userId, recipient: email })
  }
}
