import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApplicationError } from '../base/errors.ts'

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

export interface CsrfPolicy {
  publicOrigin: string
  trustedOrigins: readonly string[]
}

/**
 * Detects cross-site requests by Fetch Metadata, or by the Origin header in older browsers, like Go's
 * `http.CrossOriginProtection`. Clients other than browsers send neither header and pass.
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

/** An onRequest hook that rejects cross-site requests, except on routes with `config: { csrf: false }`. */
export function rejectCrossSite(policy: CsrfPolicy) {
  return (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void => {
    if (request.routeOptions.config.csrf === false || !isCrossSite(request, policy)) return done()
    done(new ApplicationError('csrf_rejected', 'The request was rejected because it came from another site.'))
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** false for a route that other servers call and that authenticates them itself */
    csrf?: boolean
  }
}
