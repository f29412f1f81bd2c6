import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { negotiate } from '@fastify/accept-negotiator'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { varyBy } from './response-headers.ts'

const compress = promisify(gzip)

/** Below this length, compression does not save a packet. */
const minimumLength = 1024

/**
 * An onSend hook that compresses long JSON with gzip. Only for responses that are the same for every user,
 * because lengths would reveal a secret beside text from an attacker (BREACH).
 */
export async function compressJson(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== 'string' || payload.length < minimumLength) return payload
  varyBy(reply, 'Accept-Encoding')
  const accepted = request.headers['accept-encoding']
  if (typeof accepted !== 'string' || negotiate(accepted, ['gzip']) === null) return payload
  reply.header('content-encoding', 'gzip')
  return compress(payload)
}
