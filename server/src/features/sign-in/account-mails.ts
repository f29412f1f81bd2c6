import type { Services } from '../../services.ts'
import { composeAccountMail } from '../accounts/compose-account-mail.ts'
import { formatMail } from '../mail/format-mail.ts'
import type { MailText } from '../mail/format-mail.ts'
import { recoverLinkToken } from '../mail/link-token.ts'
import { findOpenReset } from './password-reset-store.ts'

/** Null if the link is invalid. Omits the account's name, which an attacker may have chosen. */
export async function composePasswordResetMail(
  { db, clock, config, secretKey }: Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>,
  resetId: number,
): Promise<MailText | null> {
  const reset = await findOpenReset(db, { id: resetId }, clock())
  if (reset === undefined) return null
  const token = recoverLinkToken(secretKey, 'password_reset', reset)
  return formatMail({
    subject: 'Reset your Berth password',
    paragraphs: [
      'Hi,',
      `We received a request to reset the password of your Berth account ${reset.email}. Choose a new password here:`,
    ],
    action: {
      label: 'Reset password',
      url: `${config.publicUrl.href.replace(/\/$/, '')}/reset-password?token=${token}`,
    },
    notes: [
      'This link works once and expires in one hour. If you requested several links, only the newest one works.',
      'If you didn’t request this, you can ignore this email. Your password won’t change.',
    ],
  })
}

/** Writes the email that confirms a password change. */
export function composePasswordChangedMail(deps: Pick<Services, 'db'>, userId: number) {
  return composeAccountMail(deps, userId, (email) => ({
    subject: 'Your Berth password was changed',
    paragraphs: [
      `The password of your Berth account ${email} was just changed. Your other sessions are now signed out. Sign in there with your new password.`,
    ],
    note: 'If you didn’t do this, someone else may have access to your email. Secure your mailbox first. Then request a new reset link and let your Berth administrator know.',
  }))
}

/** Writes the email about a new organization in place of one that others had joined. */
export function composeFreshOrganizationMail(deps: Pick<Services, 'db'>, userId: number) {
  return composeAccountMail(deps, userId, (email) => ({
    subject: 'You have a new organization on Berth',
    paragraphs: [
      `You just proved that ${email} is yours. Until then, anybody could have used this Berth account, and other people have joined its organization or were invited to it.`,
      'To be safe, you now have a new organization of your own. The old one still exists with its members, deployments and bill.',
    ],
    note: 'If you know everyone in the old organization, switch back to it in the organization menu. Otherwise don’t use it, and don’t add a card there.',
  }))
}
