import { randomBytes } from 'node:crypto'
import type { Services } from '../../services.ts'
import type { Actor } from '../../base/viewer.ts'
import { hashToken } from '../../base/hash-token.ts'
import { resetPassword } from '../accounts/account-password.ts'
import { identifyActor } from '../accounts/identify-actor.ts'
import { forgetNetworks, rememberNetwork } from '../accounts/known-networks.ts'
import { lockAccount, lockAccountByEmail } from '../accounts/lock-account.ts'
import { hashPassword } from '../accounts/passwords.ts'
import { recordAction } from '../audit/record-action.ts'
import { deriveLinkToken } from '../mail/link-token.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { deleteSecondFactors } from '../second-factors/delete-second-factors.ts'
import { deleteSessions } from '../sessions/delete-sessions.ts'
import { invalidToken } from './errors.ts'
import { leaveSharedOrganization } from './leave-shared-organization.ts'
import { consumeReset, countResetsSince, findOpenReset, replaceReset } from './password-reset-store.ts'
import { clearFailedSignIns } from './sign-in.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'secretKey'>

const hour = 3_600_000
const mostPerHour = 5

/** A job looks up the account, so that neither the response nor its timing reveals if it exists. */
export async function requestPasswordReset(
  { db, jobs }: Pick<Services, 'db' | 'jobs'>,
  visitor: Actor,
  email: string,
): Promise<void> {
  await jobs.enqueue(db, 'request-password-reset', { email, visitor })
}

/** Emails a link that works once within an hour and replaces earlier ones; at most 5 per account and hour. */
export async function issuePasswordReset(deps: Deps, visitor: Actor, email: string): Promise<void> {
  const at = deps.clock()
  await deps.db.transaction().execute(async (transaction) => {
    const user = await lockAccountByEmail(transaction, email)
    // A service member gets a new password from an admin.
    if (user === undefined || user.allowed_networks !== null) return
    const recent = await countResetsSince(transaction, user.id, new Date(at.getTime() - hour))
    if (recent >= mostPerHour) {
      deps.log.info({ user: user.id }, 'reset link not sent: the account reached its hourly limit')
      return
    }
    const nonce = randomBytes(32).toString('base64url')
    const tokenHash = hashToken(deriveLinkToken(deps.secretKey, 'password_reset', nonce))
    const expiresAt = new Date(at.getTime() + hour)
    const subjectId = await replaceReset(transaction, { userId: user.id, nonce, tokenHash, at, expiresAt })
    await queueMail(deps, transaction, { kind: 'password_reset', subjectId, recipient: user.email })
    await recordAction(transaction, visitor, 'user.password_reset_requested', {
      organizationId: user.current_organization_id,
      target: { type: 'user', id: user.id, name: user.email },
    })
  })
}

/**
 * Sets a password by a reset link, ends all sessions and emails a confirmation. Second factors stay, unless
 * the link is the first proof of the address. Throws `invalid_or_expired_token`.
 */
export async function confirmPasswordReset(
  deps: Deps,
  visitor: Actor,
  { token, password }: { token: string; password: string },
): Promise<void> {
  const { db, clock, config } = deps
  // Check the token first: hashing is expensive, and guessed tokens must not trigger it.
  const reset = await findOpenReset(db, { tokenHash: hashToken(token) }, clock())
  if (reset === undefined) throw invalidToken()
  const passwordHash = await hashPassword(config.passwordHashing, password)
  const { email } = await db.transaction().execute(async (transaction) => {
    const at = clock()
    // Lock the account before its resets, as issuePasswordReset does, to avoid a deadlock.
    const before = await lockAccount(transaction, reset.user_id)
    if (!(await consumeReset(transaction, reset.id, at))) throw invalidToken()
    // A concurrent sign-in with the old password waits for the update and fails, or has its session deleted.
    const user = await resetPassword(transaction, reset.user_id, passwordHash, at)
    await deleteSessions(transaction, reset.user_id)
    const mail = { kind: 'password_changed', subjectId: reset.user_id, recipient: user.email } as const
    await forgetNetworks(transaction, reset.user_id)
    // Otherwise wrong passwords from elsewhere would lock the owner out of the recovered account.
    await rememberNetwork(transaction, reset.user_id, visitor.address, at)
    await queueMail(deps, transaction, mail)
    const actor = await identifyActor(transaction, visitor, reset.user_id)
    const target = { type: 'user', id: reset.user_id, name: user.email } as const
    await recordAction(transaction, actor, 'user.password_reset', { target })
    // Without a mail server, the link comes from the operator and verifies nothing.
    if (before.email_verified_at === null && config.mail.url !== null) {
      // Another person may have registered the address, and must not lock its owner out.
      await deleteSecondFactors(transaction, reset.user_id)
      await leaveSharedOrganization(deps, transaction, before, at)
    }
    return user
  })
  await clearFailedSignIns(db, email)
}
