import type { Services } from '../../services.ts'
import { recoverLinkToken } from '../accounts/link-token.ts'
import { formatMail } from '../mail/format-mail.ts'
import type { MailText } from '../mail/format-mail.ts'
import { getInvitationStatus } from './lifecycle.ts'
import { findInvitation } from './store.ts'

const dateFormat = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'long',
  timeStyle: 'short',
  timeZone: 'UTC',
})

const roleNames = { viewer: 'a viewer', member: 'a member', admin: 'an admin' }

/**
 * Writes the mail of an invitation with the link that is good now; null when the invitation can't be answered any more, or
 * when a newer mail takes the place of this one.
 */
export async function composeInvitationMail(
  { db, clock, config, secretKey }: Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>,
  invitationId: number,
  mailId: number,
): Promise<MailText | null> {
  const invitation = await findInvitation(db, { id: invitationId })
  if (invitation?.mail_id !== mailId || getInvitationStatus(invitation, clock()) !== 'pending') return null
  const { organization_name: organization, inviter_name: inviter, invitee_email: email } = invitation
  const token = recoverLinkToken(secretKey, 'invitation', invitation)
  return formatMail({
    subject: `${inviter} invites you to ${organization} on Berth`,
    paragraphs: [
      'Hello,',
      `${inviter} invites you (${email}) to join ${organization} on Berth as ${roleNames[invitation.role]}.`,
    ],
    action: {
      label: 'See the invitation',
      url: `${config.publicUrl.href.replace(/\/$/, '')}/invitations/${token}`,
    },
    notes: [
      `The link is good until ${dateFormat.format(invitation.expires_at)} UTC and is meant for you alone: do not pass this mail on.`,
      'If you do not know what this is about, you need not do anything.',
    ],
  })
}
