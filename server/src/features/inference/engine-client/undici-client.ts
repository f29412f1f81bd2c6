import type { IncomingHttpHeaders } from 'node:http'
import { Client, errors } from 'undici'
import type { Dispatcher } from 'undici'
import { EngineFailure, keptHeaders, keptMilliseconds, lengthOf, toFailure } from './client.ts'
import type {
  AnswerHandler,
  AnswerHeaders,
  EngineCall,
  EngineClient,
  EngineRequest,
  EngineTimeouts,
} from './client.ts'

/** One connection to an engine, which carries one request at a time. */
interface Connection {
  origin: string
  client: Client
  open: boolean
  /** An answer came on it before: the engine may close it while the next request is on its way */
  used: boolean
}

/**
 * The client of engines on top of undici. It has a client for each connection: a pool that looks through all of them for an idle one
 * costs more with each stream that is open. Opens no connection by itself.
 */
export function openUndiciClient(timeouts: EngineTimeouts): EngineClient {
  const idle = new Map<string, Connection[]>()
  const all = new Set<Connection>()

  function open(origin: string): Connection {
    const client = new Client(origin, {
      connect: { timeout: timeouts.connect },
      // Of an engine that sends its head before it reads the prompt the first byte comes too late after `idle` already.
      headersTimeout: timeouts.firstByte,
      bodyTimeout: timeouts.idle,
      keepAliveTimeout: keptMilliseconds,
      pipelining: 1,
      allowH2: false,
    })
    const connection: Connection = { origin, client, open: false, used: false }
    client.on('connect', () => {
      connection.open = true
    })
    client.on('disconnect', () => {
      connection.open = false
      if (removeIdle(connection)) discard(connection)
    })
    all.add(connection)
    return connection
  }

  function removeIdle(connection: Connection): boolean {
    const connections = idle.get(connection.origin)
    const index = connections?.indexOf(connection) ?? -1
    if (connections === undefined || index === -1) return false
    connections.splice(index, 1)
    if (connections.length === 0) idle.delete(connection.origin)
    return true
  }

  function discard(connection: Connection): void {
    if (all.delete(connection)) void connection.client.destroy().catch(() => {})
  }

  function keep(connection: Connection): void {
    if (!connection.open || !all.has(connection)) return discard(connection)
    const connections = idle.get(connection.origin)
    if (connections === undefined) idle.set(connection.origin, [connection])
    else connections.push(connection)
  }

  function take(origin: string): Connection {
    const connections = idle.get(origin)
    const connection = connections?.pop()
    if (connections?.length === 0) idle.delete(origin)
    return connection ?? open(origin)
  }

  return {
    send(origin, request, handler) {
      const connection = take(origin)
      const call = new Call(handler, connection.used, (whole) => {
        if (!whole) return discard(connection)
        connection.used = true
        // A turn later: what an engine sends behind its answer is met by no request, and ends the connection.
        setImmediate(keep, connection)
      })
      connection.client.dispatch(toOptions(request), call)
      return call
    },
    size: () => all.size,
    async close() {
      idle.clear()
      const closing = [...all].map(({ client }) => client.destroy())
      all.clear()
      await Promise.all(closing)
    },
  }
}

class Call implements EngineCall, Dispatcher.DispatchHandler {
  handler: AnswerHandler | null
  readonly used: boolean
  /** Called once, with true where the answer was read to its end */
  readonly release: (whole: boolean) => void
  controller: Dispatcher.DispatchController | null = null
  heard = false

  constructor(handler: AnswerHandler, used: boolean, release: (whole: boolean) => void) {
    this.handler = handler
    this.used = used
    this.release = release
  }

  get paused(): boolean {
    return this.controller?.paused ?? false
  }

  pause(): void {
    this.controller?.pause()
  }

  resume(): void {
    this.controller?.resume()
  }

  abort(): void {
    this.handler = null
    this.controller?.abort(aborted)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.handler === null) controller.abort(aborted)
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200 || this.handler === null) return
    this.heard = true
    const length = headers['content-length']
    void this.handler.onHead({
      status,
      headers: pickHeaders(headers),
      length: length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : null,
    })
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    this.handler?.onBody(bytes)
  }

  onResponseEnd(): void {
    this.release(true)
    try {
      this.handler?.onEnd()
    } catch (error) {
      this.handler?.onFailure(toFailure(error))
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.release(false)
    const stale = this.used && !this.heard
    this.handler?.onFailure(toEngineFailure(error, stale))
  }
}

const aborted = new Error('the caller has left')

function toOptions(request: EngineRequest): Dispatcher.DispatchOptions {
  const { path, streams, requestId, authorization, traceparent, body } = request
  const headers = [
    'content-type',
    'application/json',
    'accept',
    streams ? 'text/event-stream' : 'application/json',
    'x-request-id',
    requestId,
    'content-length',
    String(lengthOf(body)),
  ]
  if (authorization !== null) headers.push('authorization', authorization)
  if (traceparent !== null) headers.push('traceparent', traceparent)
  const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body
  return { path, method: 'POST', headers, body: bytes as Buffer, reset: false }
}

function pickHeaders(headers: IncomingHttpHeaders): AnswerHeaders {
  const picked: AnswerHeaders = {}
  for (const name of keptHeaders) {
    const value = headers[name]
    if (value !== undefined) picked[name] = Array.isArray(value) ? value[0]! : value
  }
  return picked
}

function toEngineFailure(error: unknown, stale: boolean): EngineFailure {
  if (error instanceof EngineFailure) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof errors.ConnectTimeoutError || code === 'ECONNREFUSED') {
    return new EngineFailure('refused', message, { cause: error })
  }
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError) {
    return new EngineFailure('silent', message, { cause: error })
  }
  const reset = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(code)
  return new EngineFailure(stale && reset ? 'stale' : 'broken', message, { cause: error })
}
