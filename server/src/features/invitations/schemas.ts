import { z } from 'zod'
import { email, entityId, exampleToken, optionalField, pathId, timestamp, url } from '../../http/schemas.ts'
import { invitationRoles } from '../../base/roles.ts'
import { emailAddress, newPassword, optionalName } from '../accounts/schemas.ts'
import { getInvitationStatus, invitationStatuses } from './lifecycle.ts'
import type { Invitation } from './store.ts'

const invitationRole = z.enum(invitationRoles)

export const inviteBody = z
  .object({
    email: emailAddress,
    role: optionalField(invitationRole)
      .transform((role) => role ?? 'member')
      .meta({ description: 'The role that the invitee gets', default: 'member' }),
  })
  .meta({ id: 'InvitationRequest', examples: [{ email: 'ada@example.com', role: 'member' }] })

export const inviteeBody = z
  .object({
    token: z.string().describe('The last path segment of the emailed link'),
    password: newPassword,
    first_name: optionalName.describe('Your first name'),
    last_name: optionalName.describe('Your last name'),
    country: optionalName.describe('Your country'),
    contact_number: optionalName.describe('Your phone number'),
  })
  .meta({
    id: 'InviteeRegistration',
    examples: [{ token: exampleToken, password: 'correct horse battery' }],
  })

export const invitationParams = z.object({ invitation_id: pathId.describe('Id of the invitation') })

export const tokenParams = z.object({
  token: z.string().describe('The last path segment of the emailed link'),
})

export const invitationBody = z
  .object({
    id: entityId.describe('Id of the invitation'),
    organization_id: entityId.describe('The inviting organization'),
    organization_name: z.string().describe('Its name'),
    invitee_email: email.describe('The invited email'),
    invitee_user_id: z.int().nullable().describe('null while the invitee has no account'),
    invited_by_user_id: entityId.describe('The user who invited'),
    role: invitationRole.describe('The role that the invitee gets'),
    status: z.enum(invitationStatuses).describe('`expired` without an answer in time'),
    email_status: z.enum(['pending', 'sent', 'failed']).describe('Delivery of the email'),
    email_sent_at: timestamp.nullable().describe('When an email was last sent; null before the first'),
    email_last_error: z.string().nullable().describe('Why the email was not sent; null if nothing failed'),
    created_at: timestamp.describe('Creation or renewal of the invitation'),
    expires_at: timestamp.describe('End of the link'),
    responded_at: timestamp.nullable().describe('null until the invitation is answered'),
  })
  .meta({ id: 'Invitation', description: 'An invitation to an organization' })

export const invitationLinkBody = z
  .object({ url: url.describe('The link that the email contains') })
  .meta({ id: 'InvitationLink', description: 'The link of an invitation' })

export const invitationsBody = z.array(invitationBody).describe('The invitations')

export const invitationPreviewBody = z
  .object({
    organization_name: z.string().describe('The inviting organization'),
    inviter_name: z.string().describe('Name of the person who sent it; empty if unknown'),
    invitee_email: email.describe('The invited email'),
    role: invitationRole.describe('The role that the invitee gets'),
    status: z.enum(invitationStatuses).describe('Only a `pending` invitation can be answered'),
    expires_at: timestamp.describe('End of the link'),
    account_exists: z
      .boolean()
      .describe('true if the invitee already has an account and signs in to accept; false if they register'),
  })
  .meta({ id: 'InvitationPreview', description: 'An invitation as the holder of its link sees it' })

export function toInvitationBody(invitation: Invitation, at: Date): z.infer<typeof invitationBody> {
  return {
    id: invitation.id,
    organization_id: invitation.organization_id,
    organization_name: invitation.organization_name,
    invitee_email: invitation.invitee_email,
    invitee_user_id: invitation.invitee_user_id,
    invited_by_user_id: invitation.invited_by_user_id,
    role: invitation.role,
    status: getInvitationStatus(invitation, at),
    ...toMailFields(invitation),
    created_at: invitation.created_at.toISOString(),
    expires_at: invitation.expires_at.toISOString(),
    responded_at: invitation.responded_at?.toISOString() ?? null,
  }
}

/** Presents a superseded email as failed: the invitation was answered or expired before it was sent. */
function toMailFields(invitation: Invitation) {
  const { mail_status, mail_sent_at, mail_last_error } = invitation
  const superseded = mail_status === 'superseded'
  return {
    email_status: superseded ? ('failed' as const) : (mail_status ?? 'pending'),
    email_sent_at: mail_sent_at?.toISOString() ?? null,
    email_last_error: superseded
      ? 'Not sent: the invitation was answered or expired first.'
      : mail_last_error,
  }
}

export function toInvitationPreview(invitation: Invitation, at: Date): z.infer<typeof invitationPreviewBody> {
  return {
    organization_name: invitation.organization_name,
    inviter_name: invitation.inviter_name,
    invitee_email: invitation.invitee_email,
    role: invitation.role,
    status: getInvitationStatus(invitation, at),
    expires_at: invitation.expires_at.toISOString(),
    account_exists: invitation.invitee_user_id !== null,
  }
}
