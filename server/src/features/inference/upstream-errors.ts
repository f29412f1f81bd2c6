import { errors } from 'undici'
import { ApplicationError } from '../../errors.ts'

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** True when no byte of the request can have reached an engine. */
export function isRefused(error: unknown): boolean {
  return error instanceof errors.ConnectTimeoutError || codeOf(error) === 'ECONNREFUSED'
}

/** True when a connection was closed, by its end or by a reset. */
export function isReset(error: unknown): boolean {
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(codeOf(error))
}

/** What the caller is told of an engine that can't be reached, or that broke off before its answer was there. */
export function toUpstreamError(error: unknown): ApplicationError {
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError) {
    return new ApplicationError('upstream_silent', 'upstream_timeout', 'The engine did not answer in time.')
  }
  const message = 'The engine can’t be reached now.'
  return new ApplicationError('upstream_failed', 'upstream_unavailable', message)
}
