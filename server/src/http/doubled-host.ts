import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApplicationError } from '../errors.ts'

/**
 * An onRequest hook that refuses a request with two `Host` headers, as RFC 9112 asks for: Node takes the first, and what stands
 * in front may have taken the other. Doubled lengths and codings are refused by Node's parser.
 */
export function refuseDoubledHost(
  { raw: { rawHeaders } }: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts < 2) return done()
  void reply.header('connection', 'close')
  done(new ApplicationError('malformed', 'malformed_request', 'The request names its host twice.'))
}
