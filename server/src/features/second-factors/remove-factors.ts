import type { DatabaseTransaction } from '../../database/tables.ts'
import { NotFoundError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { lockAccount, lockExistingAccount } from '../accounts/lock-account.ts'
import { recordAction } from '../audit/record-action.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { deleteSessions } from '../sessions/delete-sessions.ts'
import { deleteSecondFactors } from './delete-second-factors.ts'
import { noSecondFactor } from './errors.ts'
import { deletePasskey } from './passkey-store.ts'
import { reauthenticate } from './reauthenticate.ts'
import type { Reauthentication } from './reauthenticate.ts'
import { deleteTotp, hasSecondFactor, replaceRecoveryCodes } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'secretKey'>

/** Removes the app, ends the other sessions and emails a confirmation. Throws `no_second_factor`. */
export function removeTotp(deps: Deps, viewer: Viewer, proof: Reauthentication): Promise<void> {
  return removeFactor(deps, viewer, proof, async (transaction) => {
    if (!(await deleteTotp(transaction, viewer.userId))) throw noSecondFactor()
    return { method: 'totp' }
  })
}

/** Removes a passkey, ends the other sessions and emails a confirmation. Throws `not_found`. */
export function removePasskey(
  deps: Deps,
  viewer: Viewer,
  id: number,
  proof: Reauthentication,
): Promise<void> {
  return removeFactor(deps, viewer, proof, async (transaction) => {
    const name = await deletePasskey(transaction, viewer.userId, id)
    if (name === undefined) {
      throw new NotFoundError('Passkey not found. GET /v1/user/second-factors lists your passkeys.')
    }
    return { method: 'passkey', name }
  })
}

/** Removes the factor that `remove` deletes. It returns the details for the audit log. */
async function removeFactor(
  deps: Deps,
  viewer: Viewer,
  proof: Reauthentication,
  remove: (transaction: DatabaseTransaction) => Promise<Record<string, string>>,
): Promise<void> {
  const { userId, email } = viewer
  const consume = await reauthenticate(deps, viewer, proof, 'user.second_factor_deleted')
  await deps.db.transaction().execute(async (transaction) => {
    await lockAccount(transaction, userId)
    await consume(transaction)
    const details = await remove(transaction)
    // Recovery codes stand in for a factor; without one they are of no use.
    if (!(await hasSecondFactor(transaction, userId))) await replaceRecoveryCodes(transaction, userId, [])
    await deleteSessions(transaction, userId, { except: viewer.session.id })
    await queueMail(deps, transaction, { kind: 'second_factor_deleted', subjectId: userId, recipient: email })
    const target = { type: 'user', id: userId, name: email } as const
    await recordAction(transaction, viewer, 'user.second_factor_deleted', { target, details })
  })
}

/** Removes an account's second factors and sessions and emails its owner. Undefined without an account. */
export async function resetSecondFactors(
  deps: Pick<Services, 'clock' | 'config' | 'jobs'>,
  transaction: DatabaseTransaction,
  userId: number,
): Promise<{ email: string; organizationId: number } | undefined> {
  const user = await lockExistingAccount(transaction, userId)
  if (user === undefined) return undefined
  if (!(await deleteSecondFactors(transaction, userId))) throw noSecondFactor()
  await deleteSessions(transaction, userId)
  await queueMail(deps, transaction, {
    kind: 'second_factors_reset',
    subjectId: userId,
    recipient: user.email,
  })
  return user
}
