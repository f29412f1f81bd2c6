import type { App } from '../../http/app.ts'
import { noContent } from '../../http/openapi/responses.ts'
import type { Services } from '../../services.ts'
import { reauthenticationBody } from '../second-factors/schemas.ts'
import { reauthenticationErrors } from '../second-factors/errors.ts'
import { identitiesBody, identityParams, toIdentityBody } from './schemas.ts'
import { listIdentities } from './store.ts'
import { unlinkOwnIdentity } from './unlink-own-identity.ts'

const tags = ['Accounts']

/** The routes with which a signed-in person sees and deletes their links to identity providers. */
export function identityRoutes(
  app: App,
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'secretKey'>,
): void {
  app.get(
    '/v1/user/identities',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'listIdentities',
        summary: 'List the accounts at identity providers that sign in to your account',
        tags,
        response: { 200: identitiesBody },
      },
    },
    async ({ viewer }) =>
      (await listIdentities(deps.db, viewer.userId)).map((identity) =>
        toIdentityBody(identity, deps.config.sso),
      ),
  )

  app.delete(
    '/v1/user/identities/:identity_id',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'deleteIdentity',
        summary: 'Delete the link to an account at an identity provider',
        description:
          'Ends your other sessions. The body has your password, a code of your second factor, or a passkey. If you could not sign in any more: ' +
          '409 `last_sign_in_method`. A later sign-in through the provider links again if it says that your email is verified.',
        tags,
        params: identityParams,
        body: reauthenticationBody,
        response: { 204: noContent },
        errors: ['not_found', ...reauthenticationErrors, 'last_sign_in_method'],
      },
    },
    async ({ body, params, viewer }, reply) => {
      await unlinkOwnIdentity(deps, viewer, params.identity_id, body)
      return reply.code(204).send(null)
    },
  )
}
