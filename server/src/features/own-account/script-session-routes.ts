import type { App } from '../../http/app.ts'
import { joinResponse } from '../../http/creation.ts'
import type { Services } from '../../services.ts'
import { maxScriptSessions } from '../sessions/start-script-session.ts'
import { reauthenticationErrors } from '../second-factors/errors.ts'
import { createScriptSession } from './create-script-session.ts'
import { toProof } from '../second-factors/schemas.ts'
import { newScriptSessionBody, scriptSessionBody } from './schemas.ts'

/** The route with which a signed-in person creates a session for a script. */
export function scriptSessionRoutes(
  app: App,
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>,
): void {
  app.post(
    '/v1/auth/sessions',
    {
      config: { permission: null, admitsServices: false, creates: 'atomically' },
      schema: {
        operationId: 'createScriptSession',
        summary: 'Create a session for a script',
        description:
          'Works where a sign-in by password does not: with a second factor, and with SSO. The body has your password, a code of your second ' +
          'factor, or a passkey; a wrong one is a 401 `invalid_credentials`, `invalid_code` or `invalid_passkey`. Without any, your session must come from an SSO sign-in within ' +
          `the last ten minutes (403 \`sign_in_again\`). You can have ${maxScriptSessions} sessions for scripts. They end as your other sessions do.`,
        tags: ['Accounts'],
        body: newScriptSessionBody,
        response: { 201: scriptSessionBody },
        errors: [
          'password_sign_in_disabled',
          ...reauthenticationErrors,
          'sign_in_again',
          'too_many_script_sessions',
        ],
      },
    },
    async (request, reply) => {
      const { body, viewer } = request
      const { name } = body
      const wanted = { name, proof: toProof(body) }
      const { id, token, expiresAt } = await createScriptSession(joinResponse(deps, request), viewer, wanted)
      const cookie = `${deps.config.sessionCookie.name}=${token}`
      return reply.code(201).send({ id, name, expires_at: expiresAt.toISOString(), cookie })
    },
  )
}
