import type { Services } from '../../services.ts'
import { formatMail } from '../mail/format-mail.ts'
import type { MailText } from '../mail/format-mail.ts'
import { recoverLinkToken } from './link-token.ts'
import { findUserEmail, findOpenReset } from './password-reset-store.ts'

/**
 * Writes the mail with a reset link; null when the link does not work any more. The name of the account stays out of it: it may
 * hold any text of somebody who registered another's address.
 */
export async function composePasswordResetMail(
  { db, clock, config, secretKey }: Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>,
  resetId: number,
): Promise<MailText | null> {
  const reset = await findOpenReset(db, { id: resetId }, clock())
  if (reset === undefined) return null
  const token = recoverLinkToken(secretKey, 'password_reset', reset)
  return formatMail({
    subject: 'Set a new password for Berth',
    paragraphs: [
      'Hello,',
      `You, or somebody else, asked for a new password for the Berth account ${reset.email}. Open this link to choose one:`,
    ],
    action: {
      label: 'Choose a new password',
      url: `${config.publicUrl.href.replace(/\/$/, '')}/reset-password?token=${token}`,
    },
    notes: [
      'The link works once and is good for an hour. Only the newest link that you asked for works.',
      'If this was not you, you need not do anything: without the link your password stays as it is.',
    ],
  })
}

/** Writes the mail that tells of a new password. */
export async function composePasswordChangedMail(
  { db }: Pick<Services, 'db'>,
  userId: number,
): Promise<MailText | null> {
  const user = await findUserEmail(db, userId)
  if (user === undefined) return null
  return formatMail({
    subject: 'Your password for Berth was changed',
    paragraphs: [
      'Hello,',
      `The password of the Berth account ${user.email} was just set anew through a link that was sent to this address. You were signed out everywhere; sign in with the new password.`,
    ],
    notes: [
      'If this was not you, somebody else can read your mail. Secure your mailbox first, then ask for another reset link, and tell who runs this server.',
    ],
  })
}
