import type { App } from '../../http/app.ts'
import { noContent } from '../../http/openapi/responses.ts'
import type { Services } from '../../services.ts'
import { endOtherSessions, endOwnSession, listOwnSessions } from './own-sessions.ts'
import { ownSessionsBody, sessionBody, sessionParams, toOwnSessionBody, toSessionBody } from './schemas.ts'

const tags = ['Accounts']

export function currentSessionRoute(app: App): void {
  app.get(
    '/v1/auth/session',
    {
      config: { permission: null, admitsServices: true },
      schema: {
        operationId: 'getSession',
        summary: 'Get the current session',
        tags,
        response: { 200: sessionBody },
      },
    },
    (request) => toSessionBody(request.viewer),
  )
}

/** The routes with which a signed-in person manages their sessions. */
export function ownSessionRoutes(app: App, deps: Pick<Services, 'db' | 'clock' | 'config'>): void {
  app.get(
    '/v1/auth/sessions',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'listSessions',
        summary: 'List your active sessions, latest use first',
        tags,
        response: { 200: ownSessionsBody },
      },
    },
    async ({ viewer }) =>
      (await listOwnSessions(deps, viewer)).map((session) => toOwnSessionBody(session, viewer.session.id)),
  )

  app.delete(
    '/v1/auth/sessions/:session_id',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'endSession',
        summary: 'End one of your sessions',
        tags,
        params: sessionParams,
        response: { 204: noContent },
        errors: ['not_found', 'sign_in_again'],
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
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'endOtherSessions',
        summary: 'End all your sessions except this one',
        description: 'A session for scripts ends only itself.',
        tags,
        response: { 204: noContent },
        errors: ['sign_in_again'],
      },
    },
    async ({ viewer }, reply) => {
      await endOtherSessions(deps, viewer)
      return reply.code(204).send(null)
    },
  )
}
