import type { App } from '../../http/app.ts'
import { notAuthenticated, readSessionToken, setSessionCookie, toVisitor } from '../../http/current-viewer.ts'
import { bodyProblems, problems, protectedProblems } from '../../http/openapi.ts'
import type { Services } from '../../services.ts'
import { hashToken } from '../accounts/link-token.ts'
import { assertPasswordsAllowed } from '../accounts/registration-policy.ts'
import { sessionBody, toSessionBody } from '../accounts/schemas.ts'
import { findViewer, startSession } from '../accounts/sessions.ts'
import { acceptInvitation, rejectInvitation, rejectInvitationByToken } from './answer-invitation.ts'
import { copyInvitationLink } from './copy-link.ts'
import { cancelInvitation } from './cancel-invitation.ts'
import { invitationNotFound } from './errors.ts'
import { registerInvitee } from './register-invitee.ts'
import {
  invitationBody,
  invitationLinkBody,
  invitationParams,
  invitationPreviewBody,
  invitationsBody,
  inviteBody,
  inviteeBody,
  toInvitationBody,
  toInvitationPreview,
  tokenParams,
} from './schemas.ts'
import { inviteToOrganization, resendInvitation } from './send-invitation.ts'
import { findInvitation, listInvitations, listInvitationsTo } from './store.ts'
import type { Invitation } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'secretKey'>

const tags = ['Invitations']

export function publicInvitationRoutes(app: App, deps: Deps): void {
  const { db, clock, config } = deps

  app.get(
    '/v1/invitations/by-token/:token',
    {
      config: { networkLimit: 'public' },
      schema: {
        operationId: 'previewInvitation',
        summary: 'Preview an invitation by its link',
        tags,
        security: [],
        params: tokenParams,
        response: { 200: invitationPreviewBody, ...problems(404, 429) },
      },
    },
    async ({ params }) => {
      const invitation = await findInvitation(db, { tokenHash: hashToken(params.token) })
      if (invitation === undefined) throw invitationNotFound()
      return toInvitationPreview(invitation, clock())
    },
  )

  app.post(
    '/v1/invitations/register',
    {
      config: { networkLimit: 'registration' },
      schema: {
        operationId: 'registerInvitee',
        summary: 'Accept an invitation with a new account, and sign in',
        tags,
        security: [],
        body: inviteeBody,
        response: { 200: sessionBody, ...bodyProblems, ...problems(403, 404, 409, 410, 429) },
      },
    },
    async (request, reply) => {
      assertPasswordsAllowed(config)
      const visitor = toVisitor(request)
      const { token: link, password, ...details } = request.body
      const userId = await registerInvitee(deps, visitor, hashToken(link), {
        password,
        name: null,
        firstName: details.first_name ?? null,
        lastName: details.last_name ?? null,
        country: details.country ?? null,
        contactNumber: details.contact_number ?? null,
      })
      const replaces = readSessionToken(request, config.sessionCookie)
      const session = await startSession(deps, visitor, { userId, authMethod: 'password', replaces })
      const found = await findViewer(deps, session.token)
      // A concurrent password reset may have ended the new session already.
      if (found === null) throw notAuthenticated()
      setSessionCookie(reply, config.sessionCookie, session.token, session.expiresAt)
      return toSessionBody(found.viewer)
    },
  )
}

export function invitationRoutes(app: App, deps: Deps): void {
  const { db, clock } = deps
  const present = (invitation: Invitation) => toInvitationBody(invitation, clock())

  app.post(
    '/v1/organization/invitations',
    {
      config: { permission: 'manageInvitations', requiresProvenEmail: true },
      schema: {
        operationId: 'inviteToOrganization',
        summary: 'Invite a person to your current organization',
        description:
          'Emails a link. If an earlier invitation to the same email has expired, it is renewed: it keeps its id, gets a new ' +
          'link, role, inviter and `created_at`, and its old link is invalid. An answered invitation stays, and a new one is created.',
        tags,
        body: inviteBody,
        response: { 200: invitationBody, ...protectedProblems, ...bodyProblems, ...problems(409, 429) },
      },
    },
    async ({ body, viewer }) => present(await inviteToOrganization(deps, viewer, body)),
  )

  app.get(
    '/v1/organization/invitations',
    {
      config: { permission: 'manageInvitations' },
      schema: {
        operationId: 'listOrganizationInvitations',
        summary: 'List the invitations to your current organization, newest first',
        tags,
        response: { 200: invitationsBody, ...protectedProblems },
      },
    },
    async ({ viewer }) => (await listInvitations(db, viewer.organizationId)).map(present),
  )

  app.post(
    '/v1/organization/invitations/:invitation_id/resend',
    {
      config: { permission: 'manageInvitations', requiresProvenEmail: true },
      schema: {
        operationId: 'resendInvitation',
        summary: 'Resend an unanswered invitation with a new link',
        description: 'Invalidates the previous link. Limited to one resend per minute.',
        tags,
        params: invitationParams,
        response: { 200: invitationBody, ...protectedProblems, ...problems(404, 409, 429) },
      },
    },
    async ({ params, viewer }) => present(await resendInvitation(deps, viewer, params.invitation_id)),
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
        response: { 200: invitationLinkBody, ...protectedProblems, ...problems(404, 409, 410) },
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
        response: { 200: invitationBody, ...protectedProblems, ...problems(404, 409) },
      },
    },
    async ({ params, viewer }) => present(await cancelInvitation(deps, viewer, params.invitation_id)),
  )

  app.get(
    '/v1/invitations',
    {
      config: { permission: null, requiresProvenEmail: true },
      schema: {
        operationId: 'listMyInvitations',
        summary: 'List your invitations, pending ones first',
        tags,
        response: { 200: invitationsBody, ...protectedProblems },
      },
    },
    async ({ viewer }) => (await listInvitationsTo(db, viewer.userId, clock())).map(present),
  )

  app.post(
    '/v1/invitations/by-token/:token/accept',
    {
      config: { permission: null },
      schema: {
        operationId: 'acceptInvitation',
        summary: 'Accept an invitation by its link',
        description: 'Switches you to the organization. You must be signed in with the invited email.',
        tags,
        params: tokenParams,
        response: { 200: invitationBody, ...protectedProblems, ...problems(404, 409, 410) },
      },
    },
    async ({ params, viewer }) => present(await acceptInvitation(deps, viewer, hashToken(params.token))),
  )

  app.post(
    '/v1/invitations/by-token/:token/reject',
    {
      config: { permission: null },
      schema: {
        operationId: 'rejectInvitationByToken',
        summary: 'Decline an invitation by its link',
        tags,
        params: tokenParams,
        response: { 200: invitationBody, ...protectedProblems, ...problems(404, 409, 410) },
      },
    },
    async ({ params, viewer }) =>
      present(await rejectInvitationByToken(deps, viewer, hashToken(params.token))),
  )

  app.post(
    '/v1/invitations/:invitation_id/reject',
    {
      config: { permission: null, requiresProvenEmail: true },
      schema: {
        operationId: 'rejectInvitation',
        summary: 'Decline an invitation by its ID',
        tags,
        params: invitationParams,
        response: { 200: invitationBody, ...protectedProblems, ...problems(404, 409, 410) },
      },
    },
    async ({ params, viewer }) => present(await rejectInvitation(deps, viewer, params.invitation_id)),
  )
}
