import type { FastifyReply, FastifyRequest } from 'fastify'
import { toOpenAiError } from './schemas.ts'

/** The path segments below `/v1` of Berth's own API, whose errors are problem details. */
const ownSegments = new Set(['', 'auth', 'billing', 'invitations', 'organization', 'sso', 'user'])

/**
 * Sends a 404, or a 405 if the URL allows other methods, in OpenAI's shape if the URL belongs to OpenAI's API. Returns true if it did.
 */
export function sendUnknownOpenAiRoute(
  request: FastifyRequest,
  reply: FastifyReply,
  allowed: readonly string[],
): boolean {
  const segment = /^\/v1\/([^/?]*)/.exec(request.url)?.[1]
  if (segment === undefined || ownSegments.has(segment)) return false
  const path = request.url.split('?', 1)[0]!.slice(0, 200)
  const methods = allowed.join(', ')
  const error =
    methods === ''
      ? {
          status: 404,
          code: 'unknown_url',
          detail: `Berth has no route ${request.method} ${path}. The API documentation at /docs lists all routes.`,
        }
      : { status: 405, code: 'method_not_allowed', detail: `Method not allowed. ${path} accepts ${methods}.` }
  if (methods !== '') reply.header('allow', methods)
  const { status, body } = toOpenAiError(error)
  void reply.code(status).type('application/json').serializer(JSON.stringify).send(body)
  return true
}
