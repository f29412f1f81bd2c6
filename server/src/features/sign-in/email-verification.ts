import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { hashToken } from '../../base/hash-token.ts'
import { markEmailVerified } from '../accounts/mark-email-verified.ts'
import { lockAccount } from '../accounts/lock-account.ts'
import { countAttempt } from '../accounts/rate-limits.ts'
import { recordAction } from '../audit/record-action.ts'
import { joinByDomain } from '../domains/join-domain.ts'
import { formatMail } from '../mail/format-mail.ts'
import type { MailText } from '../mail/format-mail.ts'
import { deriveLinkToken, recoverLinkToken } from '../mail/link-token.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { invalidToken } from './errors.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'secretKey'>

const hour = 3_600_000
const lifetime = 7 * 24 * hour
const requests = {
  attempts: 5,
  windowMilliseconds: hour,
  message: 'We sent this email five times within an hour. Check your spam folder, or try again later.',
}

/** Emails a link that verifies the user's address and is valid for 7 days. It replaces earlier links. */
export async function sendEmailVerification(
  deps: Deps,
  transaction: DatabaseTransaction,
  user: { id: number; email: string },
): Promise<void> {
  const nonce = randomBytes(32).toString('base64url')
  const link = {
    nonce,
    token_hash: hashToken(deriveLinkToken(deps.secretKey, 'email_verification', nonce)),
    expires_at: new Date(deps.clock().getTime() + lifetime),
  }
  await transaction
    .insertInto('email_verifications')
    .values({ user_id: user.id, ...link })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(link))
    .execute()
  await queueMail(deps, transaction, {
    kind: 'email_verification',
    subjectId: user.id,
    recipient: user.email,
  })
}

/** Sends the viewer's link again; nothing if the address is verified. At most 5 per hour. */
export async function requestEmailVerification(deps: Deps, viewer: Viewer): Promise<void> {
  const { userId, email } = viewer
  await deps.db.transaction().execute(async (transaction) => {
    const target = { type: 'user', id: userId, name: email } as const
    await recordAction(transaction, viewer, 'user.email_verification_requested', { target })
    const user = await lockAccount(transaction, userId)
    if (user.email_verified_at !== null) return
    await countAttempt(transaction, `email-verification:${userId}`, requests, deps.clock())
    await sendEmailVerification(deps, transaction, user)
  })
}

/**
 * Verifies an address in a session of its account only: its owner must not verify with a click what another
 * person registered. The person joins the organization of its domain. Throws `invalid_or_expired_token`, and
 * `verification_email_mismatch` for other accounts.
 */
export async function verifyEmail(
  deps: Pick<Services, 'db' | 'clock' | 'config'>,
  viewer: Viewer,
  token: string,
): Promise<void> {
  const { db } = deps
  const at = deps.clock()
  const link = await findOpenLink(db, sql<boolean>`token_hash = ${hashToken(token)}`, at)
  if (link === undefined) throw invalidToken()
  if (link.user_id !== viewer.userId) {
    const message = 'This link is for a different account. Sign in with the email it was sent to.'
    throw new ApplicationError('verification_email_mismatch', message)
  }
  await db.transaction().execute(async (transaction) => {
    await markEmailVerified(transaction, viewer.userId, at)
    const target = { type: 'user', id: viewer.userId, name: viewer.email } as const
    await recordAction(transaction, viewer, 'user.email_verified', { target })
    await joinByDomain(transaction, deps, viewer, viewer.userId)
  })
}

/** Writes the email with the newest link; null when the address is verified or the link has expired. */
export async function composeEmailVerification(
  { db, clock, config, secretKey }: Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>,
  userId: number,
): Promise<MailText | null> {
  const link = await findOpenLink(db, sql<boolean>`user_id = ${userId}`, clock())
  if (link === undefined || link.email_verified_at !== null) return null
  const token = recoverLinkToken(secretKey, 'email_verification', link)
  return formatMail({
    subject: 'Verify your email for Berth',
    paragraphs: [
      'Hi,',
      `Someone created a Berth account for ${link.email}. If it was you, verify your email address:`,
    ],
    action: {
      label: 'Verify email',
      url: `${config.publicUrl.href.replace(/\/$/, '')}/verify-email?token=${token}`,
    },
    notes: [
      'Berth asks for the password that you chose. This link works for 7 days. If you requested several links, only the newest one works.',
      'If you didn’t create this account, ignore this email. Unless you verify the address, nobody can deploy models or invite people with it.',
    ],
  })
}

function findOpenLink(db: Database, which: ReturnType<typeof sql<boolean>>, at: Date) {
  return db
    .selectFrom('email_verifications')
    .innerJoin('users', 'users.id', 'email_verifications.user_id')
    .select(['user_id', 'nonce', 'token_hash', 'users.email', 'users.email_verified_at'])
    .where(which)
    .where('expires_at', '>', at)
    .executeTakeFirst()
}
