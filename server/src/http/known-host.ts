import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApplicationError } from '../base/errors.ts'
import { isLoopbackHost } from '../base/loopback.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** true for a route that health checks and scrapers call by the address of a pod or machine */
    anyHost?: boolean
  }
}

/**
 * An onRequest hook that rejects a request for a host that this server doesn't serve. A page of another site
 * can thus not reach a server in a private network by pointing its own name at the server's address (DNS
 * rebinding).
 */
export function rejectUnknownHost(hosts: readonly string[]) {
  const isKnown = knowHosts(hosts)
  return (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void => {
    if (isKnown(request.hostname)) return done()
    if (request.routeOptions.config.anyHost === true) return done()
    const message = `This server doesn't serve the host of your request. Use ${hosts[0]}, or ask its operator to add the host to ALLOWED_HOSTS.`
    done(new ApplicationError('unknown_host', message))
  }
}

/** Returns a check for the host of a URL or of a `Host` header. Its port doesn't matter. */
export function knowHosts(hosts: readonly string[]): (host: string) => boolean {
  const known = new Set(hosts)
  return (host) => {
    const hostname = host.replace(/:\d+$/, '')
    return known.has(hostname.toLowerCase()) || isLoopbackHost(hostname)
  }
}
