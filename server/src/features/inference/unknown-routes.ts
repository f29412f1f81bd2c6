import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApplicationError } from '../../base/errors.ts'
import { toPublicError } from '../../http/errors.ts'
import { openAiErrors } from './protocols/openai.ts'
import { protocols } from './protocols/protocols.ts'

/** The path segments below `/v1` of Berth's own API, whose errors are problem details. */
const ownSegments = new Set(['', 'auth', 'billing', 'invitations', 'organization', 'sso', 'user'])

const modelsPath = '/v1/models'

/** The route that a client with a wrong base URL means; null for none */
function findMeant(path: string): string | null {
  const meant = `/v1${path.replace(/^(?:\/v1)+(?=\/)/, '').replace(/\/+$/, '')}`
  const isKnown = meant === modelsPath || protocols.some((protocol) => protocol.path === meant)
  return isKnown && meant !== path ? meant : null
}

/** The 404 for a URL without a route. */
export function unknownUrl(method: string, path: string): ApplicationError {
  const meant = findMeant(path)
  const remedy =
    meant === null
      ? 'The API documentation at /docs lists all routes.'
      : `The route is ${meant}: correct the base URL of your client.`
  return new ApplicationError('unknown_url', `Berth has no route ${method} ${path}. ${remedy}`)
}

/** Sends a 404 or 405 in the shape of the URL's inference protocol, or OpenAI's; true if it did. */
export function sendUnknownInferenceRoute(
  request: FastifyRequest,
  reply: FastifyReply,
  allowed: readonly string[],
): boolean {
  const path = request.url.split('?', 1)[0]!.slice(0, 200)
  const segment = /^\/v1\/([^/]*)/.exec(path)?.[1]
  const meant = findMeant(path)
  // A browser may ask for a page of the console.
  if (segment === undefined && request.headers.accept?.includes('text/html')) return false
  if (meant === null && (segment === undefined || ownSegments.has(segment))) return false
  const methods = allowed.join(', ')
  const error =
    methods === ''
      ? unknownUrl(request.method, path)
      : new ApplicationError('method_not_allowed', `Method not allowed. ${path} accepts ${methods}.`)
  if (methods !== '') reply.header('allow', methods)
  const { errors } = protocols.find((protocol) => isAtOrBelow(meant ?? path, protocol.path)) ?? {
    errors: openAiErrors,
  }
  const { status, body } = errors.compose(toPublicError(error), request.id)
  void reply.code(status).type('application/json').serializer(JSON.stringify).send(body)
  return true
}

function isAtOrBelow(path: string, other: string): boolean {
  return path === other || path.startsWith(`${other}/`)
}
