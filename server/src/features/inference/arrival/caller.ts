import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Viewer } from '../../../base/viewer.ts'
import type { Asker } from '../../deployments/serving/asker.ts'
import type { ResponseHead, ResponseHeaders } from '../../../gateway/upstream-client/upstream.ts'
import type { AnswerTranslation, Protocol } from '../protocols/protocol.ts'
import type { EngineTarget } from '../targets/targets.ts'
import type { InferenceRequest } from './request-body.ts'

/** The parts of a Fastify request that an exchange uses. */
export interface CallerRequest {
  id: string
  headers: IncomingHttpHeaders
  viewer: Viewer
  log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** What a long body takes of the budget for bodies in memory */
  bodyHold?: { release(): void; reachedModel(): void } | null
  /** True when the route itself measures and logs the request */
  hasOwnAccessLog: boolean
}

/** The parts of a Fastify reply that an exchange uses. */
export interface CallerReply {
  raw: ServerResponse
  getHeaders(): Record<string, number | string | string[] | undefined>
  header(name: string, value: string): unknown
  /** Sends an error response through Fastify. */
  send(error: unknown): unknown
  /** Takes the response from Fastify: from then on it is written to `raw`. */
  hijack(): unknown
}

/** The caller's side of an exchange. */
export interface Caller {
  request: CallerRequest
  reply: CallerReply
  asker: Asker
  /** When the request arrived, before its viewer was looked up, on the clock of `performance.now()` */
  arrivedAt: number
  /** The connection stays open while the request waits */
  isHeld?: true
}

/** Sends a request to the next deployments of its alias. */
export interface Fallback {
  /** An earlier deployment of the alias could not serve the request. */
  readonly hasFallenBack: boolean
  /** Takes the request from a deployment that can't serve it. False if the error is the caller's answer. */
  goOn(caller: Caller, error: unknown, deployment: EngineTarget): boolean
}

/** A request that has arrived, and the deployments that can serve it. */
export interface Arrival {
  readonly protocol: Protocol
  readonly caller: Caller
  readonly request: InferenceRequest
  /** null if the engine's response has the format of the route */
  readonly answers: AnswerTranslation | null
  readonly targets: readonly EngineTarget[]
  /** null without an order of the alias, or if the caller forbids it */
  readonly fallback: Fallback | null
  /** The targets are of later orders of the alias; 0 for the first or only ones */
  readonly afterOrder: number
  /** On the clock of `performance.now()` */
  readonly receivedAt: number
}

/** Sets the head, which is sent with the body's first byte, and takes the response from Fastify. */
export function writeResponseHead(
  reply: CallerReply,
  { status, headers }: ResponseHead,
  length: number | null,
  streams: boolean,
): void {
  // A stream that waited for its engine has begun already.
  if (!reply.raw.headersSent) {
    reply.raw.writeHead(status, toResponseHeaders(reply.getHeaders(), headers, length, streams))
  }
  // Until here an error could still be sent through Fastify.
  reply.hijack()
  if (streams) releaseHead(reply.raw.req)
}

/** Drops a request's head, which nothing reads anymore: Node keeps the request, and streams last long. */
function releaseHead(request: IncomingMessage): void {
  request.rawHeaders = []
  request.headers = {}
}

/** Upstream headers that are forwarded in addition to the type and length of the body. */
const forwarded = ['content-encoding', 'retry-after', 'x-request-id', 'openai-processing-ms'] as const

/** The gateway's and upstream's headers (which win), as names and values. `length`: null if unknown. */
function toResponseHeaders(
  own: Record<string, number | string | string[] | undefined>,
  upstream: ResponseHeaders,
  length: number | null,
  streams: boolean,
): string[] {
  const list: string[] = []
  for (const name in own) {
    const value = own[name]
    if (value === undefined || upstream[name as keyof ResponseHeaders] !== undefined) continue
    if (Array.isArray(value)) for (const each of value) list.push(name, each)
    else list.push(name, String(value))
  }
  const type = upstream['content-type']
  if (type !== undefined) list.push('content-type', type)
  for (const name of forwarded) {
    const value = upstream[name]
    if (value !== undefined) list.push(name, value)
  }
  if (length !== null) list.push('content-length', String(length))
  if (streams) list.push('x-accel-buffering', 'no')
  return list
}
