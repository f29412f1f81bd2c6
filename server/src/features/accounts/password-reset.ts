import { randomBytes } from 'node:crypto'
import { ApplicationError } from '../../errors.ts'
import type { Services } from '../../services.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { deriveLinkToken, hashToken } from './link-token.ts'
import { lockAccount } from './lock-account.ts'
import {
  consumeReset,
  countResetsSince,
  findOpenReset,
  replacePasswordAndEndSessions,
  replaceReset,
} from './password-reset-store.ts'
import { hashPassword } from './passwords.ts'
import { clearFailedSignIns } from './sign-in.ts'
import { lockUserByEmail } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'secretKey'>

const hour = 3_600_000
const mostPerHour = 5

/**
 * Accepts a request for a reset link. Whether the address has an account is looked up by a job later on: what happens here,
 * and how long it takes, is the same for every address.
 */
export async function requestPasswordReset(
  { db, jobs }: Pick<Services, 'db' | 'jobs'>,
  email: string,
): Promise<void> {
  await jobs.enqueue(db, 'request-password-reset', { email })
}

/** Sends a reset link that is good for an hour, once, and voids the earlier ones; at most 5 an hour for one account. */
export async function issuePasswordReset(application: Deps, email: string): Promise<void> {
  const at = application.clock()
  await application.db.transaction().execute(async (transaction) => {
    const user = await lockUserByEmail(transaction, email)
    if (user === undefined) return
    const recent = await countResetsSince(transaction, user.id, new Date(at.getTime() - hour))
    if (recent >= mostPerHour) {
      application.log.info({ user: user.id }, 'no more reset links are sent to this account for a while')
      return
    }
    const nonce = randomBytes(32).toString('base64url')
    const tokenHash = hashToken(deriveLinkToken(application.secretKey, 'password_reset', nonce))
    const expiresAt = new Date(at.getTime() + hour)
    const subjectId = await replaceReset(transaction, { userId: user.id, nonce, tokenHash, at, expiresAt })
    await queueMail(application, transaction, { kind: 'password_reset', subjectId, recipient: user.email })
  })
}

/**
 * Sets a new password through a reset link, ends every session of the account and tells its owner by mail. Throws
 * `invalid_or_expired_token` for a link that is unknown, used, void or too old.
 */
export async function confirmPasswordReset(
  application: Deps,
  { token, password }: { token: string; password: string },
): Promise<void> {
  const { db, clock } = application
  // Whoever guesses at tokens shall not make the server hash passwords.
  const reset = await findOpenReset(db, { tokenHash: hashToken(token) }, clock())
  if (reset === undefined) throw invalidToken()
  const passwordHash = await hashPassword(password)
  const { email } = await db.transaction().execute(async (transaction) => {
    const at = clock()
    // The account before its links, as where one is issued, so that the two never wait for each other.
    await lockAccount(transaction, reset.user_id)
    if (!(await consumeReset(transaction, reset.id, at))) throw invalidToken()
    const user = await replacePasswordAndEndSessions(transaction, reset.user_id, passwordHash, at)
    const mail = { kind: 'password_changed', subjectId: reset.user_id, recipient: user.email } as const
    await queueMail(application, transaction, mail)
    return user
  })
  await clearFailedSignIns(db, email)
}

function invalidToken(): ApplicationError {
  const message = 'This link was used already, is too old, or was replaced by a newer one. Ask for another.'
  return new ApplicationError('malformed', 'invalid_or_expired_token', message)
}
