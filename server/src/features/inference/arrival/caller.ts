import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { ResponseHead } from '../../../gateway/upstream-client/upstream.ts'
import type { Viewer } from '../../../base/viewer.ts'
import { toResponseHeaders } from './response-headers.ts'

/** The parts of a Fastify request that an exchange uses. */
export interface CallerRequest {
  id: string
  headers: IncomingHttpHeaders
  viewer: Viewer
  log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** What a long body takes of the budget for bodies in memory */
  bodyHold?: { release(): void } | null
  /** True when the route itself measures and logs the request */
  hasOwnAccessLog: boolean
}

/** The parts of a Fastify reply that an exchange uses. */
export interface CallerReply {
  raw: ServerResponse
  getHeaders(): Record<string, number | string | string[] | undefined>
  /** Sends an error response through Fastify. */
  send(error: unknown): unknown
  /** Takes the response from Fastify: from then on it is written to `raw`. */
  hijack(): unknown
}

/** The caller's side of an exchange. */
export interface Caller {
  request: CallerRequest
  reply: CallerReply
  /** When the request arrived, before its viewer was looked up, on the clock of `performance.now()` */
  arrivedAt: number
  /** The connection stays open while the request waits */
  isHeld?: true
}

/**
 * Sets the response head and takes the response from Fastify. The head is sent with the first byte of the
 * body.
 */
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

/**
 * Drops the head of a request that nothing reads anymore: a stream may be open for long, and Node keeps its
 * request.
 */
function releaseHead(request: IncomingMessage): void {
  request.rawHeaders = []
  request.headers = {}
}
