import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApplicationError } from '../../base/errors.ts'
import { toPublicError } from '../../http/errors.ts'
import { openAiErrors } from './protocols/openai.ts'
import { protocols } from './protocols/protocols.ts'

/** The path segments below `/v1` of Berth's own API, whose errors are problem details. */
const ownSegments = new Set(['', 'auth', 'billing', 'invitations', 'organization', 'sso', 'user'])

/** Sends a 404 or 405 in the shape of the URL's inference protocol, or OpenAI's; true if it did. */
export function sendUnknownInferenceRoute(
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
      ? new ApplicationError(
          'unknown_url',
          `Berth has no route ${request.method} ${path}. The API documentation at /docs lists all routes.`,
        )
      : new ApplicationError('method_not_allowed', `Method not allowed. ${path} accepts ${methods}.`)
  if (methods !== '') reply.header('allow', methods)
  const { errors } = protocols.find((protocol) => isAtOrBelow(path, protocol.path)) ?? {
    errors: openAiErrors,
  }
  const { status, body } = errors.compose(toPublicError(error), request.id)
  void reply.code(status).type('application/json').serializer(JSON.stringify).send(body)
  return true
}

function isAtOrBelow(path: string, other: string): boolean {
  return path === other || path.startsWith(`${other}/`)
}
