import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../../http/app.ts'
import { readSessionToken, setSessionCookie, toVisitor } from '../../http/current-viewer.ts'
import type { Services } from '../../services.ts'
import { assertPasswordsAllowed, assertPasswordUncommon } from '../accounts/access-policy.ts'
import { sessionBody, toSessionBody } from '../sessions/schemas.ts'
import { registerAccount } from './register-account.ts'
import { registerBody, signInBody } from './schemas.ts'
import { signIn } from './sign-in.ts'
import { startPasswordSession } from './start-password-session.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'secretKey'>

const tags = ['Accounts']

/** The routes with which a visitor gets a session by password. */
export function signInRoutes(app: App, deps: Deps): void {
  app.post(
    '/v1/user/register',
    {
      config: { networkLimit: true },
      schema: {
        operationId: 'register',
        summary: 'Create an account with a new organization, and sign in',
        tags,
        security: [],
        body: registerBody,
        responseHeaders: { 'Set-Cookie': 'The session cookie' },
        response: { 200: sessionBody },
        errors: ['password_sign_in_disabled', 'registration_closed', 'email_taken', 'invalid_credentials'],
      },
    },
    async (request, reply) => {
      assertPasswordsAllowed(deps.config)
      const { first_name, last_name, contact_number, ...body } = request.body
      await assertPasswordUncommon(deps.config, 'password', body.password)
      const account = await registerAccount(deps, toVisitor(request), {
        email: body.email,
        password: body.password,
        organization: body.organization,
        name: body.name ?? null,
        firstName: first_name ?? null,
        lastName: last_name ?? null,
        country: body.country ?? null,
        contactNumber: contact_number ?? null,
      })
      return openSession(deps, request, reply, account)
    },
  )

  app.post(
    '/v1/user/signin',
    {
      config: { networkLimit: true },
      schema: {
        operationId: 'signIn',
        summary: 'Sign in with email and password',
        description:
          'An account with a second factor needs a `code` or a `passkey` too. Without it: 401 `second_factor_required`; with a wrong one: 401 ' +
          '`invalid_code` or `invalid_passkey`. A service member signs in from its networks only, also where single sign-on is required.',
        tags,
        security: [],
        body: signInBody,
        responseHeaders: { 'Set-Cookie': 'The session cookie' },
        response: { 200: sessionBody },
        errors: [
          'password_sign_in_disabled',
          'invalid_credentials',
          'account_disabled',
          'network_not_allowed',
          'second_factor_required',
          'invalid_code',
          'invalid_passkey',
          'second_factor_unreadable',
        ],
      },
    },
    async (request, reply) => {
      const { passkey, ...credentials } = request.body
      const account = await signIn(deps, toVisitor(request), {
        ...credentials,
        passkey,
      })
      return openSession(deps, request, reply, account)
    },
  )
}

/** Starts a session for the account, sets its cookie and returns the body of the response. */
async function openSession(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  account: Parameters<typeof startPasswordSession>[2],
) {
  const { sessionCookie } = deps.config
  const replaces = readSessionToken(request, sessionCookie)
  const session = await startPasswordSession(deps, toVisitor(request), account, replaces)
  setSessionCookie(reply, sessionCookie, session.token, session.expiresAt)
  return toSessionBody(session.viewer)
}
