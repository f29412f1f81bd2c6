/** What went wrong in the application's own words; `http/errors.ts` alone turns a kind into a status. */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'gone'
  | 'rate_limited'
  | 'unavailable'

/** The base of every error that a caller may see: `message` is a sentence for a person, `code` a word for a program. */
export class ApplicationError extends Error {
  readonly kind: ErrorKind
  readonly code: string
  constructor(kind: ErrorKind, code: string, message: string) {
    super(message)
    this.name = new.target.name
    this.kind = kind
    this.code = code
  }
}

/** Something is absent, or belongs to somebody else: the two are never told apart. */
export class NotFoundError extends ApplicationError {
  constructor(message: string) {
    super('not_found', 'not_found', message)
  }
}

/** Too many tries; `retryAfterSeconds` is whole seconds, at least 1. */
export class RateLimitedError extends ApplicationError {
  readonly retryAfterSeconds: number
  constructor(retryAfterSeconds: number, message: string) {
    super('rate_limited', 'rate_limited', message)
    this.retryAfterSeconds = Math.max(1, Math.ceil(retryAfterSeconds))
  }
}
