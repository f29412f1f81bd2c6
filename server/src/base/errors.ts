import type { ErrorCode, ErrorKind } from './error-codes.ts'

/** Base class of all errors shown to callers: `message` is for people, `code` for programs. */
export class ApplicationError extends Error {
  readonly code: ErrorCode
  /** Whole seconds to wait before a retry; null when a retry does not help */
  readonly retryAfterSeconds: number | null
  /** Further members of the response body, for programs */
  readonly facts: Readonly<Record<string, unknown>>
  /** Of this error, if it differs from the kind of its code; else null */
  readonly kind: ErrorKind | null
  constructor(
    code: ErrorCode,
    message: string,
    more:
      | number
      | null
      | {
          facts?: Readonly<Record<string, unknown>>
          kind?: ErrorKind | null
          retryAfterSeconds?: number | null
        } = null,
  ) {
    super(message)
    const {
      facts = {},
      kind = null,
      retryAfterSeconds = null,
    } = typeof more === 'number' ? { retryAfterSeconds: more } : (more ?? {})
    this.facts = facts
    this.kind = kind
    this.name = new.target.name
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds === null ? null : Math.max(1, Math.ceil(retryAfterSeconds))
  }
}

/** The resource does not exist or belongs to another user. Callers cannot tell the two apart. */
export class NotFoundError extends ApplicationError {
  constructor(message: string) {
    super('not_found', message)
  }
}

/** The 422 for one member of a body that no schema can judge; `code` is that of the member. */
export function invalidField(field: string, message: string, code: string): ApplicationError {
  const errors = [{ location: 'body', field, message, code }]
  return new ApplicationError('validation_failed', `${field}: ${message}`, { facts: { errors } })
}

/** The 503 for a request that a stopping server can't complete. */
export function serverStopping(): ApplicationError {
  return new ApplicationError('server_stopping', 'The server is stopping. Send the request again.', 1)
}

export class RateLimitedError extends ApplicationError {
  constructor(retryAfterSeconds: number, message: string) {
    super('rate_limited', message, retryAfterSeconds)
  }
}
