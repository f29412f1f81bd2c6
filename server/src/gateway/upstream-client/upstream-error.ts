export type UpstreamErrorKind =
  /** No connection: no byte of the request can have reached an upstream */
  | 'refused'
  /** A keep-alive connection closed before the response, perhaps before the request arrived. */
  | 'stale'
  /** The connection closed within the response, or the response is malformed */
  | 'broken'
  /** No data for too long */
  | 'timeout'

/** A request to an upstream failed. */
export class UpstreamError extends Error {
  readonly kind: UpstreamErrorKind

  constructor(kind: UpstreamErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

/** Wraps any other error as a `broken` upstream. */
export function toUpstreamError(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new UpstreamError('broken', message, { cause: error })
}
