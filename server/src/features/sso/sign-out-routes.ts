import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../../http/app.ts'
import { clearSessionCookie, readSessionToken } from '../../http/current-viewer.ts'
import type { Services } from '../../services.ts'
import { signOut } from '../sessions/own-sessions.ts'
import { ssoCookieAttributes } from './cookies.ts'
import { findIdToken } from './id-token.ts'
import { signedOutBody } from './schemas.ts'

type Deps = Pick<Services, 'db' | 'config' | 'identityProvider' | 'secretKey'>

/** Tells the next SSO sign-in of a browser that the provider must ask who it is. */
const signedOutCookie = 'sso_signed_out'
const signedOutSeconds = 30 * 86_400

/** Ends the session, at the identity provider too if it began there. */
export function signOutRoute(app: App, deps: Deps): void {
  const { sessionCookie } = deps.config
  app.post(
    '/v1/user/logout',
    {
      config: { permission: null, admitsServices: true },
      schema: {
        operationId: 'logOut',
        summary: 'Sign out',
        tags: ['Accounts'],
        responseHeaders: { 'Set-Cookie': 'Clears the session cookie' },
        response: { 200: signedOutBody },
      },
    },
    async (request, reply) => {
      const { viewer } = request
      const token = readSessionToken(request, sessionCookie)
      const idToken = await findIdToken(deps, viewer.session.id)
      if (token !== null) await signOut(deps, viewer, token)
      clearSessionCookie(reply, sessionCookie)
      if (idToken === undefined) return { authenticated: false as const }
      reply.setCookie(signedOutCookie, 'yes', { ...ssoCookieAttributes(deps), maxAge: signedOutSeconds })
      const url = idToken === null ? null : ((await deps.identityProvider?.endSession(idToken)) ?? null)
      return { authenticated: false as const, ...(url !== null && { logout_url: url.href }) }
    },
  )
}

/** True if the last person who used this browser has signed out. */
export function mustAsk(request: FastifyRequest): boolean {
  return request.cookies[signedOutCookie] !== undefined
}

export function forgetSignOut(deps: Pick<Services, 'config'>, reply: FastifyReply): void {
  reply.clearCookie(signedOutCookie, ssoCookieAttributes(deps))
}
