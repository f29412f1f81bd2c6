import { ApplicationError } from '../../base/errors.ts'
import type { Config } from '../../config/config.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { hasPassword } from '../accounts/account-password.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { recordAction } from '../audit/record-action.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { reauthenticate } from '../second-factors/reauthenticate.ts'
import type { Reauthentication } from '../second-factors/reauthenticate.ts'
import { deleteSessions } from '../sessions/delete-sessions.ts'
import { noIdentity } from './errors.ts'
import { deleteIdentity, listIdentities } from './store.ts'

/**
 * Removes a link, ends the other sessions and emails a confirmation. Throws `not_found`,
 * `last_sign_in_method` if the viewer could not sign in without it, and the errors of `reauthenticate`.
 */
export async function unlinkOwnIdentity(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'secretKey'>,
  viewer: Viewer,
  id: number,
  proof: Reauthentication,
): Promise<void> {
  const { userId, email } = viewer
  const consume = await reauthenticate(deps, viewer, proof, 'user.identity_unlinked')
  await deps.db.transaction().execute(async (transaction) => {
    await lockAccount(transaction, userId)
    await consume(transaction)
    const identities = await listIdentities(transaction, userId)
    const removed = identities.find((identity) => identity.id === id)
    if (removed === undefined) throw noIdentity()
    await assertMaySignIn(transaction, deps.config, userId)
    await deleteIdentity(transaction, id)
    await deleteSessions(transaction, userId, { except: viewer.session.id })
    await queueMail(deps, transaction, { kind: 'identity_unlinked', subjectId: userId, recipient: email })
    const target = { type: 'user', id: userId, name: email } as const
    const details = { issuer: removed.issuer }
    await recordAction(transaction, viewer, 'user.identity_unlinked', { target, details })
  })
}

/** Throws `last_sign_in_method` without a password: no other link helps, as a server has one provider. */
async function assertMaySignIn(
  transaction: DatabaseTransaction,
  { sso }: Config,
  userId: number,
): Promise<void> {
  if (sso?.only !== true && (await hasPassword(transaction, userId))) return
  const message =
    sso?.only === true
      ? 'You could not sign in any more: passwords are disabled here.'
      : 'You could not sign in any more. Set a password first.'
  throw new ApplicationError('last_sign_in_method', message)
}
