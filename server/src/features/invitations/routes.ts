import type { App } from '../../http/app.ts'
import type { Services } from '../../services.ts'
import { cancelInvitation } from './cancel-invitation.ts'
import { copyInvitationLink } from './copy-link.ts'
import { answerErrors } from './errors.ts'
import {
  invitationBody,
  invitationLinkBody,
  invitationParams,
  invitationsBody,
  inviteBody,
  toInvitationBody,
} from './schemas.ts'
import { inviteToOrganization, resendInvitation } from './send-invitation.ts'
import { listInvitations } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'secretKey'>

const tags = ['Invitations']

/** The routes with which an admin invites people. */
export function invitationRoutes(app: App, deps: Deps): void {
  app.post(
    '/v1/organization/invitations',
    {
      config: {
        permission: 'manageInvitations',
        requiresVerifiedEmail: true,
        creates: 'by unique name',
      },
      schema: {
        operationId: 'inviteToOrganization',
        summary: 'Invite a person to your current organization',
        description:
          'Emails a link. The response waits up to two seconds for the mail server, so that `email_status` shows whether it took the email. Admins invite viewers and members; a super_admin also invites admins. If an earlier invitation to the same email has expired, it is renewed: it keeps its id, gets a new ' +
          'link, role, inviter and `created_at`, and its old link is invalid. An answered invitation stays, and a new one is created.',
        tags,
        body: inviteBody,
        response: { 200: invitationBody },
        errors: ['already_member', 'invitation_pending', 'rate_limited'],
      },
    },
    async ({ body, viewer }) =>
      toInvitationBody(await inviteToOrganization(deps, viewer, body), deps.clock()),
  )

  app.get(
    '/v1/organization/invitations',
    {
      config: { permission: 'manageInvitations' },
      schema: {
        operationId: 'listOrganizationInvitations',
        summary: 'List the invitations to your current organization, newest first',
        tags,
        response: { 200: invitationsBody },
      },
    },
    async ({ viewer }) =>
      (await listInvitations(deps.db, viewer.organizationId)).map((invitation) =>
        toInvitationBody(invitation, deps.clock()),
      ),
  )

  app.post(
    '/v1/organization/invitations/:invitation_id/resend',
    {
      config: { permission: 'manageInvitations', requiresVerifiedEmail: true },
      schema: {
        operationId: 'resendInvitation',
        summary: 'Resend an unanswered invitation with a new link',
        description:
          'Invalidates the previous link, which then answers 410 `invitation_replaced`. The response waits up to two seconds for the mail server; ' +
          '`email_sent_at` stays that of the previous email until then. Limited to five resends an hour.',
        tags,
        params: invitationParams,
        response: { 200: invitationBody },
        errors: ['not_found', 'invitation_answered', 'rate_limited'],
      },
    },
    async ({ params, viewer }) =>
      toInvitationBody(await resendInvitation(deps, viewer, params.invitation_id), deps.clock()),
  )

  app.post(
    '/v1/organization/invitations/:invitation_id/link',
    {
      config: { permission: 'manageInvitations' },
      schema: {
        operationId: 'copyInvitationLink',
        summary: 'Get the link of a pending invitation, to pass it on yourself',
        description:
          'For servers without `MAIL_URL`, which write emails to files. A server that sends emails answers 409 `link_emailed`. ' +
          'Once copied, the link no longer verifies the invitee’s email.',
        tags,
        params: invitationParams,
        response: { 200: invitationLinkBody },
        errors: [...answerErrors, 'link_emailed'],
      },
    },
    async ({ params, viewer }) => ({ url: await copyInvitationLink(deps, viewer, params.invitation_id) }),
  )

  app.delete(
    '/v1/organization/invitations/:invitation_id',
    {
      config: { permission: 'manageInvitations' },
      schema: {
        operationId: 'cancelInvitation',
        summary: 'Cancel an unanswered invitation',
        description: 'Its link stops working. The invitation stays in the list with the status `cancelled`.',
        tags,
        params: invitationParams,
        response: { 200: invitationBody },
        errors: ['not_found', 'invitation_answered'],
      },
    },
    async ({ params, viewer }) =>
      toInvitationBody(await cancelInvitation(deps, viewer, params.invitation_id), deps.clock()),
  )
}
