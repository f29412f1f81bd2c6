import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { ApplicationError } from '../base/errors.ts'
import { assertInNetworks, readAddress } from '../base/network.ts'
import type { Permission } from '../base/roles.ts'
import { judgeStanding, toRefusalError } from '../base/standing.ts'
import type { StandingRefusal } from '../base/standing.ts'
import type { Actor, Viewer } from '../base/viewer.ts'
import { describeInstallation } from './downloads.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The signed-in user. Throws outside the protected scope. */
    viewer: Viewer
  }
  interface FastifyContextConfig {
    /** The permission that the route requires; null for any signed-in user. Required for protected routes. */
    permission?: Permission | null
    /** true if the use case judges the role, in the object's organization */
    anyOrganization?: boolean
    /** Whether service members may call the route; required without a permission. Default: true */
    admitsServices?: boolean
    /** true if only operators may call the route, with a second factor */
    operatorsOnly?: boolean
    /** true if the route requires a verified email where the installation does */
    requiresVerifiedEmail?: boolean
    /** true to use the session cache, which keeps a revoked session for a second, or longer in an outage */
    cachesViewer?: boolean
  }
}

/** The requirements of a route for its callers. */
export type RouteAccess = Pick<
  FastifyContextConfig,
  'permission' | 'admitsServices' | 'anyOrganization' | 'operatorsOnly' | 'requiresVerifiedEmail'
>

/** Finds the viewer of a session token. */
export interface ViewerSource {
  find(token: string, origin: Origin): Promise<FoundViewer>
  /** Looks in the cache only; null when the viewer is not cached */
  findCached(token: string): Viewer | null
  /** Like `find`, but also caches the viewer */
  findAndCache(token: string, origin: Origin): Promise<FoundViewer>
  /** Called when a viewer's role does not allow a change; `operation` is the method and path of the route */
  recordRefusal(viewer: Viewer, operation: string): Promise<void>
}

type Origin = Pick<Actor, 'address' | 'userAgent'>

type FoundViewer = { viewer: Viewer; renewed: boolean } | null

/** The session token in the request's cookie, or null. */
export function readSessionToken(
  { cookies }: Pick<FastifyRequest, 'cookies'>,
  cookie: Config['sessionCookie'],
): string | null {
  const token = cookies[cookie.name]
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

const userAgentLength = 500

/** Where a request comes from, for the audit log. */
function originOf({ ip, headers }: FastifyRequest): Origin {
  return { address: readAddress(ip), userAgent: headers['user-agent']?.slice(0, userAgentLength) ?? null }
}

/** A caller without a session. */
export function toVisitor(request: FastifyRequest): Actor {
  return { userId: null, email: null, organizationId: null, ...originOf(request) }
}

/** An onRequest hook: 401 without a session, 403 without the permission. Sends a renewed session's cookie. */
export function requireViewer(config: Pick<Config, 'sessionCookie' | 'publicUrl'>, source: ViewerSource) {
  const cookie = config.sessionCookie
  async function findAndAdmit(request: FastifyRequest, reply: FastifyReply, token: string): Promise<void> {
    const { cachesViewer } = request.routeOptions.config
    const origin = originOf(request)
    const found = await (cachesViewer ? source.findAndCache(token, origin) : source.find(token, origin))
    if (found === null) throw sessionEnded()
    const { viewer, renewed } = found
    if (renewed) {
      // Set directly: routes that write raw responses only copy these headers.
      const attributes = { ...cookieAttributes(cookie), expires: viewer.session.expiresAt }
      reply.header('set-cookie', request.server.serializeCookie(cookie.name, token, attributes))
    }
    const caller = cachesViewer ? viewer : { ...viewer, ...origin }
    try {
      request.viewer = caller
      requireAccess(caller, request)
    } catch (error) {
      const { method, routeOptions } = request
      if (!cachesViewer && isChange(request))
        await source.recordRefusal(caller, `${method} ${routeOptions.url}`)
      throw error
    }
  }

  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    const token = readSessionToken(request, cookie)
    if (token === null) return done(notAuthenticated(request.headers, config.publicUrl))
    const cached = request.routeOptions.config.cachesViewer ? source.findCached(token) : null
    if (cached === null) {
      // oxlint-disable-next-line promise/no-callback-in-promise -- callbacks are faster than promises on the hot routes
      return void findAndAdmit(request, reply, token).then(() => done(), done)
    }
    try {
      request.viewer = cached
      requireAccess(cached, request)
    } catch (error) {
      return done(error as Error)
    }
    done()
  }
}

function isChange({ method }: { method: string }): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

/** The parts of Fastify's request that decide what its viewer may do. */
interface AccessRequest {
  readonly method: string
  /** null if it is unknown */
  readonly ip: string | null
  readonly routeOptions: { readonly url?: string | undefined; readonly config: RouteAccess }
}

/** Throws an error if the viewer may not call a route with this method, or not from this address. */
export function requireAccess(viewer: Viewer, { method, ip, routeOptions }: AccessRequest): void {
  if (viewer.allowedNetworks !== null) assertInNetworks(ip, viewer.allowedNetworks)
  const { permission, admitsServices, anyOrganization, operatorsOnly, requiresVerifiedEmail } =
    routeOptions.config
  if (permission === undefined)
    throw new Error(`The protected route ${routeOptions.url} names no permission.`)
  if (permission === null && admitsServices === undefined)
    throw new Error(`The protected route ${routeOptions.url} doesn't say whether it admits service members.`)
  if (viewer.allowedNetworks !== null && admitsServices === false) {
    const message = 'This is for people. A service member works with deployments and inference only.'
    throw new ApplicationError('people_only', message)
  }
  if (operatorsOnly === true) requireOperator(viewer)
  // Routes without a permission concern the person, not an organization.
  if (permission !== null) {
    const changes = isChange({ method })
    const refusal = judgeStanding(viewer, permission, changes)
    const admits = (each: StandingRefusal | null) => each === null || each === 'forbidden'
    const isAdmitted =
      refusal === null ||
      (anyOrganization === true &&
        viewer.standings.some((standing) => admits(judgeStanding(standing, permission, changes))))
    if (!isAdmitted) throw toRefusalError(refusal, viewer)
  }
  if (requiresVerifiedEmail === true && viewer.requiresEmailVerification) {
    const message = `Verify your email first: open the link that we sent to ${viewer.email}, or request a new one.`
    throw new ApplicationError('email_unproven', message)
  }
}

function requireOperator({ isOperator, hasSecondFactor }: Viewer): void {
  if (!isOperator) {
    throw new ApplicationError(
      'forbidden',
      'This is for operators of this server. No role in an organization makes one.',
    )
  }
  if (!hasSecondFactor) {
    const message = 'Operators need a second factor. Set one up on your profile page.'
    throw new ApplicationError('second_factor_required', message, { kind: 'forbidden' })
  }
}

/** A 401 for a session that has ended, or that never was. */
export function sessionEnded(): ApplicationError {
  return new ApplicationError('not_authenticated', 'Your session has ended. Sign in again.')
}

/** A 401 that explains to callers with a key why it is of no use. */
function notAuthenticated(headers: IncomingHttpHeaders, publicUrl: URL): ApplicationError {
  const hasKey = headers.authorization !== undefined || headers['x-api-key'] !== undefined
  const message =
    'Berth has no API keys. Requests carry a session cookie; `berth connect` adds it for programs that only know a key. ' +
    `Install it with \`${describeInstallation(publicUrl)}\`. ` +
    'The documentation at /docs has the route that creates a session for a script, POST /v1/auth/sessions.'
  return new ApplicationError('not_authenticated', hasKey ? message : 'Sign in first.')
}
