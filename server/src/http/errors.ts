import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ApplicationError } from '../errors.ts'
import type { ErrorKind } from '../errors.ts'

const statuses: Record<ErrorKind, number> = {
  malformed: 400,
  invalid: 422,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  gone: 410,
  rate_limited: 429,
  unavailable: 503,
  upstream_failed: 502,
  upstream_timeout: 504,
}

const titles: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}

const fieldProblemSchema = z.object({
  location: z.enum(['body', 'query', 'path']),
  field: z.string().meta({ examples: ['email'] }),
  message: z.string(),
  code: z.string().meta({ examples: ['required'] }),
})

/** RFC 9457 problem details, with a `code` for programs and the id of the request. */
export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('A sentence for a person'),
    code: z.string().describe('A stable word for a program'),
    request_id: z.string().describe('Also in the x-request-id header'),
    errors: z.array(fieldProblemSchema).optional().describe('What is wrong with each field'),
  })
  .meta({ id: 'Problem', description: 'RFC 9457 problem details' })

type FieldProblem = z.infer<typeof fieldProblemSchema>

/** An error as a caller may see it: never the text of an internal one. */
export interface PublicError {
  status: number
  code: string
  detail: string
  retryAfterSeconds?: number | null | undefined
  errors?: FieldProblem[] | undefined
}

const frameworkErrors: Record<string, { status: number; code: string; detail: string }> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    status: 415,
    code: 'unsupported_media_type',
    detail: 'The body must be JSON: send it with Content-Type: application/json.',
  },
  FST_ERR_CTP_BODY_TOO_LARGE: { status: 413, code: 'body_too_large', detail: 'The body is too large.' },
  FST_ERR_CTP_INVALID_JSON_BODY: {
    status: 400,
    code: 'malformed_json',
    detail: 'The body is not valid JSON.',
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    status: 400,
    code: 'malformed_request',
    detail: 'The body is not as long as Content-Length says.',
  },
}

/** Turns whatever was thrown into what the caller is told. Everything unknown is a 500 without a text of its own. */
export function toPublicError(error: unknown): PublicError {
  if (error instanceof ApplicationError) {
    return {
      status: statuses[error.kind],
      code: error.code,
      detail: error.message,
      retryAfterSeconds: error.retryAfterSeconds,
    }
  }
  if (hasZodFastifySchemaValidationErrors(error)) return toValidationError(error)
  const { code, statusCode } = (error ?? {}) as Partial<FastifyError>
  const known = frameworkErrors[code ?? '']
  if (known !== undefined) return known
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return { status: statusCode, code: 'malformed_request', detail: 'The request is not well-formed.' }
  }
  return { status: 500, code: 'internal_error', detail: 'Something went wrong on our side.' }
}

function toValidationError(error: {
  validation: readonly {
    keyword: string
    instancePath: string
    message?: string
    params: Record<string, unknown>
  }[]
  validationContext?: string | undefined
}): PublicError {
  const context = error.validationContext
  const location = context === 'querystring' ? 'query' : context === 'params' ? 'path' : 'body'
  if (location === 'path')
    return { status: 404, code: 'not_found', detail: 'There is nothing at this address.' }
  const errors = error.validation.flatMap((issue): FieldProblem[] => {
    const path = issue.instancePath.slice(1).replaceAll('/', '.')
    if (issue.keyword === 'unrecognized_keys') {
      return (issue.params.keys as string[]).map((key) => ({
        location,
        field: path === '' ? key : `${path}.${key}`,
        message: 'This field is not known here.',
        code: 'unknown_field',
      }))
    }
    const missing = issue.keyword === 'invalid_type' && issue.message?.endsWith('received undefined')
    return [
      {
        location,
        field: path,
        message: missing ? 'This field is required.' : (issue.message ?? 'This value is not valid.'),
        code: missing ? 'required' : issue.keyword === 'custom' ? 'invalid' : issue.keyword,
      },
    ]
  })
  const first = errors[0]
  const detail =
    errors.length === 1 && first !== undefined && first.field !== ''
      ? `${first.field}: ${first.message}`
      : 'Some fields are not valid.'
  return { status: 422, code: 'validation_failed', detail, errors }
}

/** Answers an error as problem+json; a server error is logged with its cause, which the caller does not see. */
export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const seen = toPublicError(error)
  logServerError(seen, error, request)
  return sendPublicError(seen, request, reply)
}

export function sendPublicError(
  seen: PublicError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { status, code, detail, errors } = seen
  if (seen.retryAfterSeconds) reply.header('retry-after', seen.retryAfterSeconds)
  const problem = {
    type: 'about:blank',
    title: titles[status] ?? 'Error',
    status,
    detail,
    code,
    request_id: request.id,
    ...(errors === undefined ? {} : { errors }),
  }
  // Set again here, because the router refuses an ill-formed address before any hook.
  reply.header('x-request-id', request.id)
  return reply.code(status).type('application/problem+json').serializer(JSON.stringify).send(problem)
}

export function logServerError(seen: PublicError, error: unknown, request: FastifyRequest): void {
  if (seen.status >= 500 && !(error instanceof ApplicationError))
    request.log.error({ err: error }, 'request failed')
}
