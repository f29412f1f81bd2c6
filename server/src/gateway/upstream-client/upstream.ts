import type { UpstreamError } from './upstream-error.ts'

/** A POST of JSON to an upstream. */
export interface UpstreamRequest {
  /** Path below the upstream's origin */
  path: string
  /** Accept an event stream instead of JSON */
  streams: boolean
  requestId: string
  authorization: string | null
  /** The header that has it; absent or null for `authorization` */
  keyHeader?: string | null | undefined
  traceparent: string | null
  /** Bytes to send: a string with one character per byte, or pieces */
  body: string | readonly Buffer[]
}

/** Response headers that are kept; all others are dropped. */
export const keptHeaders = [
  'content-type',
  'content-encoding',
  'retry-after',
  'x-request-id',
  'openai-processing-ms',
] as const

export type ResponseHeaders = Partial<Record<(typeof keptHeaders)[number], string>>

export interface ResponseHead {
  status: number
  headers: ResponseHeaders
  /** Bytes of the body; null when the upstream did not announce the length */
  length: number | null
}

/** Receives one response. The client never calls a handler in the event loop turn that sent the request. */
export interface ResponseHandler {
  /** May return a buffer for a body of known length. The body then fills it piece by piece. */
  onHead(head: ResponseHead): Buffer | null
  /** `bytes` are valid only during the call, unless they are in the handler's own buffer. */
  onBody(bytes: Buffer): void
  onEnd(): void
  /** The response failed. No other method is called afterwards. */
  onError(error: UpstreamError): void
}

/** A request in flight. */
export interface UpstreamCall {
  /** The body was written, so its pieces are no longer read. Never set for a string. */
  readonly isBodySent: boolean
  readonly isPaused: boolean
  /** Stops reading the response, for backpressure. */
  pause(): void
  resume(): void
  /** Closes the connection. The handler is not called again. */
  abort(): void
  /**
   * Closes this side of the connection, so that the upstream can stop. For a second or two, `handler` gets
   * what it still sends. Returns false if the request is not sent completely; then abort the call.
   */
  leave(handler: ResponseHandler): boolean
}

/** Sends requests over a pool of keep-alive connections. */
export interface UpstreamClient {
  /** `origin` has the form `http(s)://host[:port]`. */
  send(origin: string, request: UpstreamRequest, handler: ResponseHandler): UpstreamCall
  /** Open connections */
  size(): number
  close(): Promise<void>
}

/** Timeouts in milliseconds. */
export interface UpstreamTimeouts {
  /** Until the connection is established */
  connect: number
  /** From the request to the first byte of the body: some engines send the head before reading the prompt */
  firstByte: number
  /** Between two pieces of a response */
  idle: number
}

/** How long an upstream may take to notice the closed connection, in milliseconds */
export const leaveMilliseconds = 1_000

/** Bytes of a request body. */
export function lengthOf(body: UpstreamRequest['body']): number {
  return typeof body === 'string' ? body.length : body.reduce((sum, piece) => sum + piece.length, 0)
}
