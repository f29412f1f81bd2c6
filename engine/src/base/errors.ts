/** An error response in OpenAI's format. */
export class RequestError extends Error {
  readonly status: number
  readonly type: string
  readonly code: string | null
  readonly param: string | null
  /** Seconds, sent as Retry-After. */
  readonly retryAfter: number | null

  constructor(
    status: number,
    message: string,
    details: { code?: string; param?: string; retryAfter?: number } = {},
  ) {
    super(message)
    this.name = 'RequestError'
    this.status = status
    this.type = errorType(status)
    this.code = details.code ?? null
    this.param = details.param ?? null
    this.retryAfter = details.retryAfter ?? null
  }
}

/** A 400 for the body field at the path `param`. */
export function invalid(param: string, message: string, code = 'invalid_value'): RequestError {
  return new RequestError(400, message, param === '' ? { code } : { code, param })
}

/** A 429 for a request that the full queue cannot take. */
export function overloaded(waiting: number): RequestError {
  const message = `The engine is busy and its queue of ${waiting} requests is full. Try again in a few seconds.`
  return new RequestError(429, message, { code: 'rate_limited', retryAfter: 5 })
}

/** A 503 for requests that a shutdown interrupts. */
export function shuttingDown(): RequestError {
  return new RequestError(503, 'The engine is shutting down.', { code: 'shutting_down', retryAfter: 5 })
}

export function errorType(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 404) return 'not_found_error'
  if (status === 429) return 'rate_limit_error'
  if (status === 503) return 'unavailable_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
