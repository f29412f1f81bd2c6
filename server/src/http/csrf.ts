import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApplicationError } from '../errors.ts'

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

export interface CsrfPolicy {
  publicOrigin: string
  trustedOrigins: readonly string[]
}

/**
 * Tells a request that a browser was talked into from one that its user meant, by Fetch Metadata with the Origin header as
 * the fallback (the scheme of Go's `http.CrossOriginProtection`). Clients that are no browsers send neither and pass.
 */
function isCrossSite(
  { method, headers }: Pick<FastifyRequest, 'method' | 'headers'>,
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

/** An onRequest hook that refuses cross-site requests, but on routes that say `config: { csrf: false }`. */
export function refuseCrossSite(policy: CsrfPolicy) {
  return (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void => {
    if (request.routeOptions.config.csrf === false || !isCrossSite(request, policy)) return done()
    done(new ApplicationError('forbidden', 'csrf_rejected', 'This request came from another site.'))
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** false: the route is called by other servers and checks its callers itself */
    csrf?: boolean
  }
}
