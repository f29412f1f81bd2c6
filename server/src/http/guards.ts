import type { IncomingMessage } from 'node:http'
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import { ApplicationError } from '../base/errors.ts'
import { isLoopbackHost } from '../base/loopback.ts'

// The checks of each request before its caller is known. Fastify's hook and the fast path make the same.

declare module 'fastify' {
  interface FastifyContextConfig {
    /** true for a route that health checks and scrapers call by the address of a pod or machine */
    anyHost?: boolean
    /** false for a route that other servers call and that authenticates them itself */
    csrf?: boolean
  }
}

/** The parts of Fastify's request that guards read. */
export interface GuardedRequest {
  readonly raw: Pick<IncomingMessage, 'method' | 'headers' | 'rawHeaders'>
  readonly hostname: string
  readonly routeOptions: { readonly config: FastifyContextConfig }
}

/** Returns the error for a request that the server refuses; null for any other. */
export type Guard = (request: GuardedRequest) => ApplicationError | null

/** Returns the error of the first guard that refuses a request; null if none does. */
export function findRefusal(guards: readonly Guard[], request: GuardedRequest): ApplicationError | null {
  for (const guard of guards) {
    const error = guard(request)
    if (error !== null) return error
  }
  return null
}

/** Returns an onRequest hook that rejects the requests that a guard refuses. */
export function rejectRefused(guards: readonly Guard[]) {
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    const error = findRefusal(guards, request)
    if (error === null) return done()
    // What follows a malformed head may not be a request.
    if (error.code === 'malformed_request') void reply.header('connection', 'close')
    done(error)
  }
}

/**
 * Refuses two `Host` headers (RFC 9112, section 3.2), because a proxy may have used another than Node. Node's
 * parser rejects duplicate `Content-Length` and `Transfer-Encoding` headers itself.
 */
export function refuseDuplicateHost({ raw: { rawHeaders } }: GuardedRequest): ApplicationError | null {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts < 2) return null
  return new ApplicationError('malformed_request', 'The request has more than one Host header.')
}

const headerBytes = 16 * 1024

/** The 431 for headers above the limit. */
export function headersTooLarge(): ApplicationError {
  const message = `The headers are too large: together they may have ${headerBytes.toLocaleString('en-US')} bytes. Cookies may be the cause.`
  return new ApplicationError('headers_too_large', message)
}

/** Refuses long headers in the format of the route. Node's parser refuses only those that are far longer. */
export function refuseLongHeaders({ raw: { rawHeaders } }: GuardedRequest): ApplicationError | null {
  let bytes = 0
  for (const text of rawHeaders) bytes += text.length
  return bytes > headerBytes ? headersTooLarge() : null
}

/**
 * Refuses hosts that this server doesn't serve; null serves all. Otherwise a page of another site could reach
 * a private server by pointing its name at the server's address (DNS rebinding).
 */
export function refuseUnknownHosts(hosts: readonly string[] | null): Guard {
  if (hosts === null) return () => null
  const known = new Set(hosts)
  return ({ hostname: host, routeOptions }) => {
    // The port doesn't matter.
    const hostname = host.replace(/:\d+$/, '')
    if (known.has(hostname.toLowerCase()) || isLoopbackHost(hostname)) return null
    if (routeOptions.config.anyHost === true) return null
    const message = `This server doesn't serve the host of your request. Use ${hosts[0]}, or ask its operator to add the host to ALLOWED_HOSTS.`
    return new ApplicationError('unknown_host', message)
  }
}

const safeMethods = new Set<string | undefined>(['GET', 'HEAD', 'OPTIONS'])

export interface CsrfPolicy {
  publicOrigin: string
  trustedOrigins: readonly string[]
}

/** Returns a guard against cross-site requests, except to routes with `config: { csrf: false }`. */
export function refuseCrossSite(policy: CsrfPolicy): Guard {
  return ({ raw, routeOptions }) =>
    routeOptions.config.csrf === false || !isCrossSite(raw, policy)
      ? null
      : new ApplicationError('csrf_rejected', 'The request was rejected because it came from another site.')
}

/**
 * Detects cross-site requests by Fetch Metadata, or by the Origin header in older browsers, like Go's
 * `http.CrossOriginProtection`. Clients other than browsers send neither header and pass.
 */
function isCrossSite(
  { method, headers }: GuardedRequest['raw'],
  { publicOrigin, trustedOrigins }: CsrfPolicy,
): boolean {
  if (safeMethods.has(method)) return false
  const { origin, host } = headers
  if (origin !== undefined && trustedOrigins.includes(origin)) return false
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  if (origin === undefined || origin === publicOrigin) return false
  return !URL.canParse(origin) || new URL(origin).host !== host
}
