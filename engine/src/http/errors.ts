import type { FastifyReply, FastifyRequest } from 'fastify'
import { errorType, RequestError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'

/** An error body in OpenAI's format. */
export interface ErrorBody {
  error: { message: string; type: string; param: string | null; code: string | null }
}

/** The reason of a request's signal when its caller disconnects. */
export class CallerLeft extends Error {}

/** The error body for a caller. Unexpected errors reveal no details. */
export function toErrorBody(error: unknown): { status: number; retryAfter: number | null; body: ErrorBody } {
  if (error instanceof RequestError) {
    const { status, message, type, param, code, retryAfter } = error
    return { status, retryAfter, body: { error: { message, type, param, code } } }
  }
  const message =
    'The engine could not answer this request because of an internal error. Its log has the details.'
  return {
    status: 500,
    retryAfter: null,
    body: { error: { message, type: errorType(500), param: null, code: 'internal_error' } },
  }
}

/** Makes RequestErrors of Fastify's errors, such as a malformed body. Logs and returns unexpected errors. */
export function toRequestError(error: unknown, log: Log, request: FastifyRequest): unknown {
  if (error instanceof RequestError || error instanceof CallerLeft) return error
  const { statusCode, code, message } = error as { statusCode?: number; code?: string; message?: string }
  if (statusCode === 413) {
    return new RequestError(413, 'The request body exceeds 32 MiB.', { code: 'body_too_large' })
  }
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY' || error instanceof SyntaxError) {
    return new RequestError(400, 'The request body is not valid JSON.', { code: 'invalid_json' })
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new RequestError(statusCode, message ?? 'The request is not valid.')
  }
  log(`request ${request.id} failed: ${error instanceof Error ? error.stack : String(error)}`)
  return error
}

/** Sends the error response for an error that `toRequestError` returned. */
export function sendError(reply: FastifyReply, error: unknown): FastifyReply {
  const { status, retryAfter, body } = toErrorBody(error)
  if (retryAfter !== null) reply.header('retry-after', String(retryAfter))
  return reply.code(status).send(body)
}
