import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** An onSend hook: weak ETags and 304 for JSON, so that a page that polls transfers only changes. */
export async function sendEntityTag(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (request.method !== 'GET' || reply.statusCode !== 200 || typeof payload !== 'string') return payload
  const tag = `W/"${createHash('sha256').update(payload).digest('base64url').slice(0, 22)}"`
  reply.header('etag', tag)
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'private, no-cache')
  const known = request.headers['if-none-match']?.split(',').map((each) => each.trim())
  if (known?.includes(tag) !== true) return payload
  reply.code(304).removeHeader('content-type').removeHeader('content-length')
  return ''
}
