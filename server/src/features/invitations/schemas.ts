import { z } from 'zod'
import { pathId, text, timestamp } from '../../http/schemas.ts'
import { invitationRoles } from '../../roles.ts'
import { emailAddress, newPassword } from '../accounts/schemas.ts'
import { getInvitationStatus, invitationStatuses } from './lifecycle.ts'
import type { Invitation } from './store.ts'

const invitationRole = z.enum(invitationRoles)
const optionalName = text({ min: 1, max: 255 }).optional()

export const inviteBody = z
  .object({ email: emailAddress, role: invitationRole.default('member') })
  .meta({ id: 'InvitationRequest' })

export const inviteeBody = z
  .object({
    token: z.string().describe('The last path segment of the emailed link'),
    password: newPassword,
    first_name: optionalName,
    last_name: optionalName,
    country: optionalName,
    contact_number: optionalName,
  })
  .meta({ id: 'InviteeRegistration' })

export const invitationParams = z.object({ invitation_id: pathId })

export const tokenParams = z.object({
  token: z.string().describe('The last path segment of the emailed link'),
})

export const invitationBody = z
  .object({
    id: z.int(),
    organization_id: z.int(),
    organization_name: z.string(),
    invitee_email: z.string(),
    invitee_user_id: z.int().nullable().describe('null while the invitee has no account'),
    invited_by_user_id: z.int(),
    role: invitationRole,
    status: z.enum(invitationStatuses),
    email_status: z.enum(['pending', 'sent', 'failed']),
    email_sent_at: timestamp.nullable(),
    email_last_error: z.string().nullable(),
    created_at: timestamp,
    expires_at: timestamp,
    responded_at: timestamp.nullable().describe('null until the invitation is answered'),
  })
  .meta({ id: 'Invitation' })

export const invitationLinkBody = z
  .object({ url: z.string().describe('The link that the email contains') })
  .meta({ id: 'InvitationLink' })

export const invitationsBody = z.array(invitationBody)

export const invitationPreviewBody = z
  .object({
    organization_name: z.string(),
    invitee_email: z.string(),
    role: invitationRole,
    status: z.enum(invitationStatuses),
    expires_at: timestamp,
    account_exists: z
      .boolean()
      .describe('true if the invitee already has an account and signs in to accept; false if they register'),
  })
  .meta({ id: 'InvitationPreview' })

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

/** Presents a superseded email as failed: the invitation was answered or expired before the email was sent. */
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
    invitee_email: invitation.invitee_email,
    role: invitation.role,
    status: getInvitationStatus(invitation, at),
    expires_at: invitation.expires_at.toISOString(),
    account_exists: invitation.invitee_user_id !== null,
  }
}
