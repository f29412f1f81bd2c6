import { ApplicationError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { recordAction } from '../audit/record-action.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { deleteSessions } from '../sessions/delete-sessions.ts'
import { trimCode } from './check-factor.ts'
import { decryptTotpSecret, encryptTotpSecret } from './totp-secret.ts'
import { invalidCode, unreadableSecret } from './errors.ts'
import { countOwnCode, reauthenticate } from './reauthenticate.ts'
import type { Reauthentication } from './reauthenticate.ts'
import { issueRecoveryCodes } from './rotate-recovery-codes.ts'
import { verifyTotpSecret, countRecoveryCodes, findPendingTotp, insertPendingTotp } from './store.ts'
import { describeTotp, findTotpStep, generateTotpSecret } from './totp.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'secretKey'>

/** How long a person may take between the first and the second step. */
export const pendingMilliseconds = 15 * 60_000

/** Returns a new secret, which is in use only after `verifyTotp`. Throws `authenticator_app_exists`. */
export async function startTotp(
  deps: Deps,
  viewer: Viewer,
  proof: Reauthentication,
): Promise<{ secret: string; uri: string }> {
  const { db, clock, config, secretKey } = deps
  const { userId, email } = viewer
  const consume = await reauthenticate(deps, viewer, proof, 'user.second_factor_started')
  const secret = generateTotpSecret()
  await db.transaction().execute(async (transaction) => {
    await consume(transaction)
    const encrypted = encryptTotpSecret(secretKey, userId, secret)
    if (!(await insertPendingTotp(transaction, userId, encrypted, clock()))) {
      const message = 'Your account has an authenticator app already. Remove it before you add another.'
      throw new ApplicationError('authenticator_app_exists', message)
    }
    const target = { type: 'user', id: userId, name: email } as const
    await recordAction(transaction, viewer, 'user.second_factor_started', { target })
  })
  return describeTotp(secret, { issuer: `Berth (${config.publicUrl.hostname})`, label: email })
}

/** Ends other sessions; returns recovery codes if none exist. Throws `invalid_code`, `setup_not_started`. */
export async function verifyTotp(deps: Deps, viewer: Viewer, code: string): Promise<string[] | null> {
  const { db, clock, secretKey } = deps
  const { userId, email } = viewer
  const at = clock()
  const pending = await findPendingTotp(db, userId, new Date(at.getTime() - pendingMilliseconds))
  if (pending === undefined) throw notStarted()
  const secret = decryptTotpSecret(secretKey, userId, pending.secret)
  if (secret === null) throw unreadableSecret()
  const step = await countOwnCode(deps, viewer, 'user.second_factor_added', async () => {
    const found = findTotpStep(secret, trimCode(code), at)
    if (found === null) throw invalidCode()
    return found
  })
  return db.transaction().execute(async (transaction) => {
    await lockAccount(transaction, userId)
    if (!(await verifyTotpSecret(transaction, userId, { secret: pending.secret, step, at }))) {
      throw notStarted()
    }
    await deleteSessions(transaction, userId, { except: viewer.session.id })
    await queueMail(deps, transaction, { kind: 'second_factor_added', subjectId: userId, recipient: email })
    const target = { type: 'user', id: userId, name: email } as const
    const details = { method: 'totp' }
    await recordAction(transaction, viewer, 'user.second_factor_added', { target, details })
    const hasCodes = (await countRecoveryCodes(transaction, userId)) > 0
    return hasCodes ? null : issueRecoveryCodes(transaction, userId)
  })
}

function notStarted(): ApplicationError {
  const message = 'This setup has expired, was finished, or was started again elsewhere. Start again.'
  return new ApplicationError('setup_not_started', message)
}
