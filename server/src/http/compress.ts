import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { negotiate } from '@fastify/accept-negotiator'
import type { FastifyReply, FastifyRequest } from 'fastify'

const compress = promisify(gzip)

/** A smaller answer takes no fewer packets when it is compressed. */
const leastLength = 1024

/**
 * An onSend hook for a route whose answers are long JSON: gzip for callers that take it. It is for what is the same for everybody
 * alone: where an answer holds a secret beside words of somebody else, its compressed length tells of the secret (BREACH).
 */
export async function compressJson(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== 'string' || payload.length < leastLength) return payload
  reply.header('vary', 'Accept-Encoding')
  const accepted = request.headers['accept-encoding']
  if (typeof accepted !== 'string' || negotiate(accepted, ['gzip']) === null) return payload
  reply.header('content-encoding', 'gzip')
  return compress(payload)
}
