import type { FastifyRequest } from 'fastify'
import { ApplicationError } from '../../base/errors.ts'
import type { App } from '../../http/app.ts'
import { toVisitor } from '../../http/current-viewer.ts'
import { unpackRequest } from '../../http/unpack-body.ts'
import type { Services } from '../../services.ts'
import { endProviderSessions } from './end-provider-sessions.ts'
import { requireProvider } from './require-provider.ts'
import { loggedOut, logoutBody, providerParams } from './schemas.ts'

/** The provider's route to end sessions. Reading a form requires a separate scope. */
export function backChannelLogoutRoute(
  app: App,
  deps: Pick<Services, 'db' | 'config' | 'identityProvider' | 'log'>,
): void {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) =>
      Object.fromEntries(new URLSearchParams((await unpackRequest(request, body)).toString())),
  )
  app.post(
    '/v1/sso/backchannel-logout/:sso_provider',
    {
      bodyLimit: 64 * 1024,
      schema: {
        operationId: 'endSsoSessions',
        summary: 'End sessions when a person signs out at the identity provider (called by the provider)',
        description:
          'OpenID Connect Back-Channel Logout 1.0. Register the address with the provider as the client’s back-channel logout URL.',
        tags: ['Accounts'],
        security: [],
        params: providerParams,
        consumes: ['application/x-www-form-urlencoded'],
        body: logoutBody,
        response: { 200: loggedOut },
        errors: ['not_found', 'invalid_logout_token', 'sso_unavailable'],
      },
    },
    async (request, reply) => {
      const provider = requireProvider(deps, request.params.sso_provider)
      const { logout_token: token } = request.body
      if (token === undefined) throw new ApplicationError('invalid_logout_token', 'Send a logout_token.')
      await endProviderSessions(deps, provider, toVisitor(request), token)
      reply.header('cache-control', 'no-store')
      return reply.code(200).send(null)
    },
  )
}
