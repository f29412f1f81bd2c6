import { hashToken } from '../../base/hash-token.ts'
import type { App } from '../../http/app.ts'
import { readSessionToken, setSessionCookie, toVisitor } from '../../http/current-viewer.ts'
import type { Services } from '../../services.ts'
import { assertPasswordsAllowed, assertPasswordUncommon } from '../accounts/access-policy.ts'
import { sessionBody, toSessionBody } from '../sessions/schemas.ts'
import { startPasswordSession } from '../sign-in/start-password-session.ts'
import { acceptInvitation, declineInvitation, declineInvitationByToken } from './answer-invitation.ts'
import { answerErrors, linkErrors } from './errors.ts'
import { registerInvitee } from './register-invitee.ts'
import { requireInvitation } from './require-open-invitation.ts'
import {
  invitationBody,
  invitationParams,
  invitationPreviewBody,
  invitationsBody,
  inviteeBody,
  toInvitationBody,
  toInvitationPreview,
  tokenParams,
} from './schemas.ts'
import { listInvitationsTo } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs'>

const tags = ['Invitations']

/** Routes for an invitee without an account. */
export function publicInvitationRoutes(app: App, deps: Deps): void {
  const { config } = deps
  app.get(
    '/v1/invitations/by-token/:token',
    {
      config: { networkLimit: true },
      schema: {
        operationId: 'previewInvitation',
        summary: 'Preview an invitation by its link',
        tags,
        security: [],
        params: tokenParams,
        response: { 200: invitationPreviewBody },
        errors: linkErrors,
      },
    },
    async ({ params }) => {
      const invitation = await requireInvitation(deps.db, hashToken(params.token))
      return toInvitationPreview(invitation, deps.clock())
    },
  )

  app.post(
    '/v1/invitations/register',
    {
      config: { networkLimit: true },
      schema: {
        operationId: 'registerInvitee',
        summary: 'Accept an invitation with a new account, and sign in',
        tags,
        security: [],
        body: inviteeBody,
        responseHeaders: { 'Set-Cookie': 'The session cookie' },
        response: { 200: sessionBody },
        errors: [
          'password_sign_in_disabled',
          ...answerErrors,
          'invitation_replaced',
          'email_taken',
          'invalid_credentials',
        ],
      },
    },
    async (request, reply) => {
      assertPasswordsAllowed(config)
      const visitor = toVisitor(request)
      const { token: link, password, ...details } = request.body
      await assertPasswordUncommon(config, 'password', password)
      const account = await registerInvitee(deps, visitor, hashToken(link), {
        password,
        name: null,
        firstName: details.first_name ?? null,
        lastName: details.last_name ?? null,
        country: details.country ?? null,
        contactNumber: details.contact_number ?? null,
      })
      const replaces = readSessionToken(request, config.sessionCookie)
      const session = await startPasswordSession(deps, visitor, account, replaces)
      setSessionCookie(reply, config.sessionCookie, session.token, session.expiresAt)
      return toSessionBody(session.viewer)
    },
  )
}

/** Routes for a signed-in invitee. */
export function ownInvitationRoutes(app: App, deps: Deps): void {
  app.get(
    '/v1/invitations',
    {
      config: { permission: null, admitsServices: false, requiresVerifiedEmail: true },
      schema: {
        operationId: 'listOwnInvitations',
        summary: 'List your invitations, pending ones first',
        tags,
        response: { 200: invitationsBody },
      },
    },
    async ({ viewer }) =>
      (await listInvitationsTo(deps.db, viewer.userId, deps.clock())).map((invitation) =>
        toInvitationBody(invitation, deps.clock()),
      ),
  )

  app.post(
    '/v1/invitations/by-token/:token/accept',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'acceptInvitation',
        summary: 'Accept an invitation by its link',
        description: 'Switches you to the organization. You must be signed in with the invited email.',
        tags,
        params: tokenParams,
        response: { 200: invitationBody },
        errors: [...answerErrors, 'invitation_replaced', 'invitation_email_mismatch'],
      },
    },
    async ({ params, viewer }) =>
      toInvitationBody(await acceptInvitation(deps, viewer, hashToken(params.token)), deps.clock()),
  )

  app.post(
    '/v1/invitations/by-token/:token/reject',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'declineInvitationByToken',
        summary: 'Decline an invitation by its link',
        tags,
        params: tokenParams,
        response: { 200: invitationBody },
        errors: [...answerErrors, 'invitation_replaced', 'invitation_email_mismatch'],
      },
    },
    async ({ params, viewer }) =>
      toInvitationBody(await declineInvitationByToken(deps, viewer, hashToken(params.token)), deps.clock()),
  )

  app.post(
    '/v1/invitations/:invitation_id/reject',
    {
      config: { permission: null, admitsServices: false, requiresVerifiedEmail: true },
      schema: {
        operationId: 'declineInvitation',
        summary: 'Decline an invitation by its ID',
        tags,
        params: invitationParams,
        response: { 200: invitationBody },
        errors: answerErrors,
      },
    },
    async ({ params, viewer }) =>
      toInvitationBody(await declineInvitation(deps, viewer, params.invitation_id), deps.clock()),
  )
}
