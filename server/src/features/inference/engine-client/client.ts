/** A request to an engine, without what every request has. */
export interface EngineRequest {
  /** Below the engine's origin */
  path: string
  streams: boolean
  requestId: string
  authorization: string | null
  traceparent: string | null
  /** Bytes: one for each character of a string, or pieces of them */
  body: string | readonly Buffer[]
}

/** What the gateway wants to know of an engine's headers. */
export const keptHeaders = [
  'content-type',
  'content-encoding',
  'retry-after',
  'x-request-id',
  'openai-processing-ms',
] as const

export type AnswerHeaders = Partial<Record<(typeof keptHeaders)[number], string>>

export interface AnswerHead {
  status: number
  headers: AnswerHeaders
  /** Bytes of the body; null where only its end tells */
  length: number | null
}

/** Who is told of an answer; a client calls it from a later turn of the event loop than that of the request. */
export interface AnswerHandler {
  /** May return where a body of a known length is to be read to: its pieces then follow each other there */
  onHead(head: AnswerHead): Buffer | null
  /** `bytes` are another answer's after it returns, unless they lie where the handler wanted them */
  onBody(bytes: Buffer): void
  onEnd(): void
  /** Nothing follows */
  onFailure(failure: EngineFailure): void
}

/** A request that is under way. */
export interface EngineCall {
  readonly paused: boolean
  pause(): void
  resume(): void
  /** Ends the request at once; its handler hears no more of it */
  abort(): void
}

/** Sends requests to engines and keeps connections between them. */
export interface EngineClient {
  /** `origin` is `http(s)://host[:port]` */
  send(origin: string, request: EngineRequest, handler: AnswerHandler): EngineCall
  /** Connections that are open */
  size(): number
  close(): Promise<void>
}

export interface EngineTimeouts {
  /** Milliseconds until a connection stands */
  connect: number
  /** From the request to the first byte of its answer's body: some engines send the head before they read the prompt */
  firstByte: number
  /** Between two pieces of an answer */
  idle: number
}

/** Milliseconds for which a connection is kept without a request: less than engines keep theirs. */
export const keptMilliseconds = 4_000

export type FailureKind =
  /** No byte of the request can have reached an engine */
  | 'refused'
  /** A connection that was kept had ended before a byte of the answer: the engine may have closed it unasked */
  | 'stale'
  /** The connection ended amid the answer, or what came on it is none */
  | 'broken'
  /** The engine said nothing for too long */
  | 'silent'

export class EngineFailure extends Error {
  readonly kind: FailureKind

  constructor(kind: FailureKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

export function toFailure(error: unknown): EngineFailure {
  if (error instanceof EngineFailure) return error
  const message = error instanceof Error ? error.message : String(error)
  return new EngineFailure('broken', message, { cause: error })
}

export function lengthOf(body: EngineRequest['body']): number {
  return typeof body === 'string' ? body.length : body.reduce((sum, piece) => sum + piece.length, 0)
}
