import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { ApplicationError } from '../errors.ts'
import { roleCan } from '../roles.ts'
import type { Permission } from '../roles.ts'
import type { Viewer } from '../viewer.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is asking; reading it outside the protected scope is a mistake that throws */
    viewer: Viewer
  }
  interface FastifyContextConfig {
    /** What the viewer's role must allow; every route of the protected scope names it, `null` for any signed-in user */
    permission?: Permission | null
  }
}

export type FindViewer = (token: string) => Promise<{ viewer: Viewer; renewed: boolean } | null>

/** The session's token as the request's cookie holds it, or null. */
export function readSessionToken(request: FastifyRequest, cookie: Config['sessionCookie']): string | null {
  const token = request.cookies[cookie.name]
  return token === undefined || token === '' ? null : token
}

export function setSessionCookie(
  reply: FastifyReply,
  cookie: Config['sessionCookie'],
  token: string,
  expiresAt: Date,
): void {
  reply.setCookie(cookie.name, token, { ...cookieAttributes(cookie), expires: expiresAt })
}

export function clearSessionCookie(reply: FastifyReply, cookie: Config['sessionCookie']): void {
  reply.clearCookie(cookie.name, cookieAttributes(cookie))
}

function cookieAttributes({ secure, sameSite }: Config['sessionCookie']) {
  return { httpOnly: true, path: '/', secure, sameSite } as const
}

/**
 * An onRequest hook for the protected scope: finds the viewer or answers 401, checks the route's permission or answers 403,
 * and sends the cookie again when the session was renewed.
 */
export function requireViewer(cookie: Config['sessionCookie'], findViewer: FindViewer) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const token = readSessionToken(request, cookie)
    const found = token === null ? null : await findViewer(token)
    if (token === null || found === null) {
      throw new ApplicationError('unauthenticated', 'not_authenticated', 'Sign in first.')
    }
    const { viewer, renewed } = found
    request.viewer = viewer
    if (renewed) setSessionCookie(reply, cookie, token, viewer.session.expiresAt)
    const { permission } = request.routeOptions.config
    if (permission === undefined) {
      throw new Error(`${request.routeOptions.url} is in the protected scope and names no permission`)
    }
    if (permission !== null && !roleCan(viewer.role, permission)) {
      throw new ApplicationError('forbidden', 'forbidden', `Your role (${viewer.role}) does not allow this.`)
    }
  }
}
