import type { FailureCode } from '../../../ports/model-runtime.ts'

/** A download that failed for good; `message` is one sentence for a person. */
export class DownloadError extends Error {
  readonly code: FailureCode
  constructor(code: FailureCode, message: string) {
    super(message)
    this.code = code
  }
}

/** A fault that may pass; `retryAfterMs` is what the server asked to wait. */
export class PassingFault extends Error {
  readonly retryAfterMs: number | null
  constructor(message: string, retryAfterMs: number | null = null) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/** The words for a broken connection: the system's code where there is one. */
export function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error) return describeCause(error.cause)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null
  return code === 'UND_ERR_BODY_TIMEOUT' ? 'no data for too long' : (code ?? error.message)
}
