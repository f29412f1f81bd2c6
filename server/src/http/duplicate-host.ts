import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApplicationError } from '../base/errors.ts'

/**
 * An onRequest hook that rejects a request with two `Host` headers (RFC 9112, section 3.2). Node uses the
 * first one, but a proxy in front may have used the other. Node's parser rejects duplicate `Content-Length`
 * and `Transfer-Encoding` headers itself.
 */
export function rejectDuplicateHost(
  { raw: { rawHeaders } }: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  if (countHosts(rawHeaders) < 2) return done()
  void reply.header('connection', 'close')
  done(new ApplicationError('malformed_request', 'The request has more than one Host header.'))
}

/** Returns the number of `Host` headers among alternating names and values. */
export function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts
}
