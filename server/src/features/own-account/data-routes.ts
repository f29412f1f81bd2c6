import type { App } from '../../http/app.ts'
import { clearSessionCookie } from '../../http/current-viewer.ts'
import { noContent } from '../../http/openapi/responses.ts'
import type { Services } from '../../services.ts'
import { toProof } from '../second-factors/schemas.ts'
import { reauthenticationErrors } from '../second-factors/errors.ts'
import { deleteAccount } from './delete-account.ts'
import { exportData } from './export-data.ts'
import { accountDeletionBody, exportBody } from './schemas.ts'

const tags = ['Accounts']

/** The routes with which a person takes their data and deletes their account. */
export function ownDataRoutes(app: App, deps: Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>): void {
  app.get(
    '/v1/user/export',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'exportData',
        summary: 'Download everything that this server stores about you',
        tags,
        responseHeaders: { 'Content-Disposition': 'The name of the file' },
        response: { 200: exportBody },
      },
    },
    async ({ viewer }, reply) => {
      const data = await exportData(deps, viewer)
      reply.header('content-disposition', 'attachment; filename="berth-account.json"')
      reply.type('application/json; charset=utf-8')
      return reply.serializer((body: unknown) => JSON.stringify(body, null, 2)).send(data as never)
    },
  )

  app.delete(
    '/v1/user',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'deleteAccount',
        summary: 'Delete your account',
        description:
          'Ends your deployments and sessions, and closes organizations that you are the only member of. The body has your password, a code of your second factor, or a passkey; ' +
          'without any, the session must come from an SSO sign-in within the last ten minutes (403 `sign_in_again`). As the last ' +
          'super_admin of an organization with other members: 409 `last_super_admin`.',
        tags,
        body: accountDeletionBody,
        responseHeaders: { 'Set-Cookie': 'Clears the session cookie' },
        response: { 204: noContent },
        errors: [...reauthenticationErrors, 'sign_in_again', 'last_super_admin'],
      },
    },
    async ({ body, viewer }, reply) => {
      await deleteAccount(deps, viewer, toProof(body))
      clearSessionCookie(reply, deps.config.sessionCookie)
      return reply.code(204).send(null)
    },
  )
}
