import type { FailureCode } from '../../../../ports/engine-failures.ts'

/** A permanent download failure. `message` is one sentence for a person. */
export class DownloadError extends Error {
  readonly code: FailureCode
  constructor(code: FailureCode, message: string) {
    super(message)
    this.code = code
  }
}

/** A transient download failure. `retryAfterMs` is the delay from `Retry-After`, if any. */
export class RetryableError extends Error {
  readonly retryAfterMs: number | null
  constructor(message: string, retryAfterMs: number | null = null) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/** Describes a connection error, by its system error code if it has one. */
export function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error) return describeCause(error.cause)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null
  return code === 'UND_ERR_BODY_TIMEOUT' ? 'no data received' : (code ?? error.message)
}
