import { z } from 'zod'
import type { App } from '../../http/app.ts'
import { bodyProblems, problems, protectedProblems } from '../../http/openapi.ts'
import type { Services } from '../../services.ts'
import { changePassword } from './change-password.ts'
import { endOtherSessions, endOwnSession, listOwnSessions } from './own-sessions.ts'
import { assertPasswordsAllowed } from './registration-policy.ts'
import { ownSessionsBody, passwordChangeBody, sessionParams, toOwnSessionBody } from './schemas.ts'

const tags = ['Accounts']

/** The routes with which a signed-in person changes their password and manages their sessions. */
export function ownAccountRoutes(app: App, deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs'>): void {
  app.post(
    '/v1/user/password',
    {
      config: { permission: null },
      schema: {
        operationId: 'changePassword',
        summary: 'Change your password',
        description:
          'Ends your other sessions. A wrong current password is a 401 `invalid_credentials`, an account without a password a 409 ' +
          '`no_password`.',
        tags,
        body: passwordChangeBody,
        response: { 204: z.null(), ...protectedProblems, ...bodyProblems, ...problems(409, 429) },
      },
    },
    async ({ body, viewer }, reply) => {
      assertPasswordsAllowed(deps.config)
      const { current_password: currentPassword, new_password: newPassword } = body
      await changePassword(deps, viewer, { currentPassword, newPassword })
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/v1/auth/sessions',
    {
      config: { permission: null },
      schema: {
        operationId: 'listSessions',
        summary: 'List your active sessions, latest use first',
        tags,
        response: { 200: ownSessionsBody, ...protectedProblems },
      },
    },
    async ({ viewer }) =>
      (await listOwnSessions(deps, viewer)).map((session) => toOwnSessionBody(session, viewer.session.id)),
  )

  app.delete(
    '/v1/auth/sessions/:session_id',
    {
      config: { permission: null },
      schema: {
        operationId: 'endSession',
        summary: 'End one of your sessions',
        tags,
        params: sessionParams,
        response: { 204: z.null(), ...protectedProblems, ...problems(404) },
      },
    },
    async ({ params, viewer }, reply) => {
      await endOwnSession(deps, viewer, params.session_id)
      return reply.code(204).send(null)
    },
  )

  app.delete(
    '/v1/auth/sessions',
    {
      config: { permission: null },
      schema: {
        operationId: 'endOtherSessions',
        summary: 'End all your sessions except this one',
        tags,
        response: { 204: z.null(), ...protectedProblems },
      },
    },
    async ({ viewer }, reply) => {
      await endOtherSessions(deps, viewer)
      return reply.code(204).send(null)
    },
  )
}
