import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { isDatabaseUnavailable, isStorageFull, isTransactionConflict } from '../database/connect.ts'
import { errorCodes } from '../base/error-codes.ts'
import type { ErrorCode, ErrorKind } from '../base/error-codes.ts'
import { ApplicationError } from '../base/errors.ts'
import { findShortage, overloaded } from '../base/local-shortage.ts'
import { bodyTooLarge } from './body-too-large.ts'
import type { Storage } from './storage.ts'
import { acceptedCodings } from './unpack-body.ts'

const statuses: Record<ErrorKind, number> = {
  malformed: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  too_slow: 408,
  conflict: 409,
  gone: 410,
  precondition_failed: 412,
  too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  misdirected: 421,
  invalid: 422,
  locked: 423,
  rate_limited: 429,
  headers_too_large: 431,
  // Of the checksum extension of the tus protocol
  checksum_mismatch: 460,
  internal: 500,
  upstream_failed: 502,
  unavailable: 503,
  upstream_timeout: 504,
}

/** The HTTP status of an error code. */
export function statusOf(code: ErrorCode): number {
  return statuses[errorCodes[code].kind]
}

const titles: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  416: 'Range Not Satisfiable',
  421: 'Misdirected Request',
  422: 'Unprocessable Content',
  423: 'Locked',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  460: 'Checksum Mismatch',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}

/** Its requests are answered with it; the others get JSON, as from every other route. */
export const problemType = 'application/problem+json'

const fieldProblemSchema = z.object({
  location: z.enum(['body', 'query', 'path']).describe('Where the field is'),
  field: z.string().meta({ description: 'Path of the field, with dots', examples: ['email'] }),
  message: z.string().describe('What is wrong, for a person'),
  code: z.string().meta({ description: 'What is wrong, for programs', examples: ['required'] }),
})

/** RFC 9457 problem details, with a `code` for programs and the id of the request. */
export const problemSchema = z
  .object({
    type: z.string().describe('Always `about:blank`'),
    title: z.string().describe('The status in words'),
    status: z.int().meta({ format: 'int32', minimum: 400, maximum: 599, description: 'The HTTP status' }),
    detail: z.string().describe('What happened, for a person'),
    code: z
      .enum(Object.keys(errorCodes) as [ErrorCode, ...ErrorCode[]])
      .describe('A stable code for programs'),
    request_id: z.string().describe('Also in the `x-request-id` header'),
    errors: z.array(fieldProblemSchema).optional().describe('The invalid fields'),
    deployment_ids: z
      .array(z.string())
      .optional()
      .describe(
        'With `deployments_active`, `model_in_use` and `endpoint_in_use`: the deployments in question',
      ),
    reasons: z
      .array(z.string())
      .optional()
      .describe('With `no_runnable_weights`: why the weights of each format can not run'),
    active_deployments: z
      .array(
        z.object({
          id: z.string().describe('Id of the deployment'),
          model_name: z.string().describe('Name of the model'),
          selected_instance_type: z.string().nullable().describe('null until an instance type is chosen'),
          created_at: z.string().meta({ format: 'date-time', description: 'The request of the deployment' }),
        }),
      )
      .optional()
      .describe('With `deployments_active`: the deployments in question'),
    second_factors: z
      .array(z.string())
      .optional()
      .describe(
        'With `second_factor_required`: `passkey`, `totp` and `recovery_code`, as far as the account has them',
      ),
    passkey_options: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        'With `second_factor_required`, for an account with a passkey: the argument of `PublicKeyCredential.parseRequestOptionsFromJSON`',
      ),
  })
  .meta({ id: 'Problem', description: 'RFC 9457 problem details' })

type FieldProblem = z.infer<typeof fieldProblemSchema>

/** An error as shown to callers. It never contains the message of an internal error. */
export interface PublicError {
  status: number
  code: ErrorCode
  detail: string
  retryAfterSeconds?: number | null | undefined
  facts?: Readonly<Record<string, unknown>> | undefined
  errors?: FieldProblem[] | undefined
}

const frameworkErrors: Record<string, { code: ErrorCode; detail: string }> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'unsupported_media_type',
    detail: 'The request body must be JSON. Send it with Content-Type: application/json.',
  },
  FST_ERR_CTP_BODY_TOO_LARGE: { code: 'body_too_large', detail: 'The request body is too large.' },
  FST_ERR_CTP_INVALID_JSON_BODY: { code: 'malformed_json', detail: 'The request body is not valid JSON.' },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'malformed_request',
    detail: 'The length of the request body differs from Content-Length.',
  },
}

/** The error while a disk is full. */
export function storageFull(): ApplicationError {
  const message = 'A disk of the server is full. Retry when its operator has freed some space.'
  return new ApplicationError('storage_full', message, 60)
}

/** Converts a thrown value into the error for the caller. Unknown errors become a 500 without details. */
export function toPublicError(error: unknown): PublicError {
  if (error instanceof ApplicationError) {
    const { code, kind, message, retryAfterSeconds, facts } = error
    return {
      status: kind === null ? statusOf(code) : statuses[kind],
      code,
      detail: message,
      retryAfterSeconds,
      facts,
    }
  }
  if (hasZodFastifySchemaValidationErrors(error)) return toValidationError(error)
  const shortage = findShortage(error)
  if (shortage !== null) return toPublicError(overloaded(shortage))
  if (isDatabaseUnavailable(error)) {
    const message = 'The database is unreachable or refuses changes. Retry in a few seconds.'
    return toPublicError(
      new ApplicationError('database_unavailable', message, isTransactionConflict(error) ? 1 : 5),
    )
  }
  if (isStorageFull(error)) return toPublicError(storageFull())
  const { code, statusCode } = (error ?? {}) as Partial<FastifyError>
  const known = frameworkErrors[code ?? '']
  if (known !== undefined) return { status: statusOf(known.code), ...known }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return { status: statusCode, code: 'malformed_request', detail: 'The request is malformed.' }
  }
  return { status: 500, code: 'internal_error', detail: 'The server failed to process the request.' }
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
    return { status: 404, code: 'not_found', detail: 'Nothing exists at this address.' }
  const errors = error.validation.flatMap((issue): FieldProblem[] => {
    const path = issue.instancePath.slice(1).replaceAll('/', '.')
    if (issue.keyword === 'unrecognized_keys') {
      return (issue.params.keys as string[]).map((key) => ({
        location,
        field: path === '' ? key : `${path}.${key}`,
        message: 'This field is unknown.',
        code: 'unknown_field',
      }))
    }
    const missing = issue.keyword === 'invalid_type' && issue.message?.endsWith('received undefined')
    return [
      {
        location,
        field: path,
        message: missing ? 'This field is required.' : (issue.message ?? 'This value is invalid.'),
        code: missing ? 'required' : issue.keyword === 'custom' ? 'invalid' : issue.keyword,
      },
    ]
  })
  const first = errors[0]
  const detail =
    errors.length === 1 && first !== undefined && first.field !== ''
      ? `${first.field}: ${first.message}`
      : 'Some fields are invalid.'
  return { status: 422, code: 'validation_failed', detail, errors }
}

/** The headers of an error's response. */
export function errorHeaders({
  code,
  retryAfterSeconds,
}: Pick<PublicError, 'code' | 'retryAfterSeconds'>): Record<string, string> {
  return {
    ...(retryAfterSeconds ? { 'retry-after': String(retryAfterSeconds) } : {}),
    ...(code === 'unsupported_encoding' ? { 'accept-encoding': acceptedCodings } : {}),
  }
}

/** The body of an error's response, in the shape of RFC 9457. */
export function composeProblem({ status, code, detail, errors, facts }: PublicError, requestId: string) {
  return {
    type: 'about:blank',
    title: titles[status] ?? 'Error',
    status,
    detail,
    code,
    request_id: requestId,
    ...(errors === undefined ? {} : { errors }),
    ...facts,
  }
}

/** Sends an error with the shape of RFC 9457. Logs internal errors, which callers don't see. */
export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply.serializer(JSON.stringify).send(toProblem(error, request, reply))
}

/** Sets the status and headers of an error, and returns its body. For hooks that may not throw. */
export function toProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): object {
  const isTooLong = (error as Partial<FastifyError> | null)?.code === 'FST_ERR_CTP_BODY_TOO_LARGE'
  const publicError = toPublicError(isTooLong ? bodyTooLarge(request.routeOptions.bodyLimit) : error)
  logServerError(publicError, error, request.server.storage, request.log)
  for (const [name, value] of Object.entries(errorHeaders(publicError))) {
    // The route's own is more exact.
    if (!reply.hasHeader(name)) reply.header(name, value)
  }
  // Set here too: the router rejects a malformed URL before any hook runs.
  reply.header('x-request-id', request.id)
  const namesProblems = request.headers.accept?.includes(problemType) === true
  reply.code(publicError.status).type(namesProblems ? problemType : 'application/json; charset=utf-8')
  return composeProblem(publicError, request.id)
}

/** Logs an error whose cause callers don't see. */
export function logServerError(
  { status }: PublicError,
  error: unknown,
  storage: Pick<Storage, 'reportFull'>,
  log: Pick<FastifyBaseLogger, 'error'>,
): void {
  if (isStorageFull(error)) storage.reportFull(error)
  else if (status >= 500 && !(error instanceof ApplicationError)) log.error({ err: error }, 'request failed')
}
