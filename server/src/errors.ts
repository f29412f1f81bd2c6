/** What went wrong in the application's own words; `http/errors.ts` alone turns a kind into a status. */
export type ErrorKind =
  | 'malformed'
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'gone'
  | 'rate_limited'
  | 'unavailable'
  | 'upstream_failed'
  | 'upstream_silent'

/** The base of every error that a caller may see: `message` is a sentence for a person, `code` a word for a program. */
export class ApplicationError extends Error {
  readonly kind: ErrorKind
  readonly code: string
  /** Whole seconds after which another try makes sense; null where time changes nothing */
  readonly retryAfterSeconds: number | null
  constructor(kind: ErrorKind, code: string, message: string, retryAfterSeconds: number | null = null) {
    super(message)
    this.name = new.target.name
    this.kind = kind
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds === null ? null : Math.max(1, Math.ceil(retryAfterSeconds))
  }
}

/** Something is absent, or belongs to somebody else: the two are never told apart. */
export class NotFoundError extends ApplicationError {
  constructor(message: string) {
    super('not_found', 'not_found', message)
  }
}

/** Too many tries. */
export class RateLimitedError extends ApplicationError {
  constructor(retryAfterSeconds: number, message: string) {
    super('rate_limited', 'rate_limited', message, retryAfterSeconds)
  }
}
