import type { FastifyReply, FastifyRequest } from 'fastify'

export const httpsOnly = { 'strict-transport-security': 'max-age=31536000' }

/** An onRequest hook: browsers that once used https keep to it for a year, without asking over http first. */
export function requireHttps(_request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  reply.headers(httpsOnly)
  done()
}

/** An onRequest hook: no browser or proxy stores the response, because it is about one person. */
export function forbidCaching(_request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  reply.header('cache-control', 'no-store')
  done()
}

/** Adds a request header to those that the response depends on. */
export function varyBy(reply: FastifyReply, name: string): void {
  const before = reply.getHeader('vary')
  reply.header('vary', before === undefined ? name : `${String(before)}, ${name}`)
}
