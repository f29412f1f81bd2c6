import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { replacePassword } from '../accounts/account-password.ts'
import { hashPassword } from '../accounts/passwords.ts'
import { verifyOwnPassword } from '../accounts/verify-own-password.ts'
import { recordAction } from '../audit/record-action.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { deleteSessions } from '../sessions/delete-sessions.ts'
import { invalidCredentials } from './errors.ts'
import { closeResets } from './password-reset-store.ts'

/** Changes the viewer's password, ends their other sessions and reset links, and emails a confirmation. */
export async function changePassword(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs'>,
  viewer: Viewer,
  { currentPassword, newPassword }: { currentPassword: string; newPassword: string },
): Promise<void> {
  const { db, clock, config } = deps
  const { userId, email } = viewer
  const before = await verifyOwnPassword(deps, viewer, currentPassword, 'user.password_changed')
  const passwordHash = await hashPassword(config.passwordHashing, newPassword)
  await db.transaction().execute(async (transaction) => {
    const at = clock()
    // A concurrent change or reset wins: its owner knows the newer password.
    if (!(await replacePassword(transaction, userId, { before, after: passwordHash, at }))) {
      throw invalidCredentials()
    }
    await deleteSessions(transaction, userId, { except: viewer.session.id })
    await closeResets(transaction, userId, at)
    await queueMail(deps, transaction, { kind: 'password_changed', subjectId: userId, recipient: email })
    const target = { type: 'user', id: userId, name: email } as const
    await recordAction(transaction, viewer, 'user.password_changed', { target })
  })
}
