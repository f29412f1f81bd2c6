import type { Services } from '../../services.ts'
import { formatMail, quoteName } from '../mail/format-mail.ts'
import type { MailText } from '../mail/format-mail.ts'
import { composeInvitationUrl } from './copy-link.ts'
import { getInvitationStatus } from './lifecycle.ts'
import { findInvitation } from './store.ts'

const dateFormat = new Intl.DateTimeFormat('en-US', {
  dateStyle: 'long',
  timeStyle: 'short',
  timeZone: 'UTC',
})

const roleNames = { viewer: 'a viewer', member: 'a member', admin: 'an admin' }

/** Writes the email of an invitation; null if it was answered, has expired or has a newer email. */
export async function composeInvitationMail(
  { db, clock, config, secretKey }: Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>,
  invitationId: number,
  mailId: number,
): Promise<MailText | null> {
  const invitation = await findInvitation(db, { id: invitationId })
  if (invitation?.mail_id !== mailId || getInvitationStatus(invitation, clock()) !== 'pending') return null
  const organization = quoteName(invitation.organization_name)
  const inviter = quoteName(invitation.inviter_name)
  const { invitee_email: email } = invitation
  return formatMail({
    subject: `${inviter} invited you to ${organization} on Berth`,
    paragraphs: [
      'Hi,',
      `${inviter} invited you (${email}) to join ${organization} on Berth as ${roleNames[invitation.role]}.`,
    ],
    action: { label: 'View invitation', url: composeInvitationUrl({ config, secretKey }, invitation) },
    notes: [
      `This link works until ${dateFormat.format(invitation.expires_at)} UTC. It is only for you, so please don’t forward this email.`,
      'If you weren’t expecting this invitation, you can ignore this email.',
    ],
  })
}
