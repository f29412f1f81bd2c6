// A connection of Berth's upstream client, made of undici. The pool is the client's.
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { buildConnector, Client } from 'undici'
import type { Dispatcher } from 'undici'
import type { ConnectionPool } from '../../server/src/gateway/upstream-client/connection.ts'
import { keptHeaders, lengthOf } from '../../server/src/gateway/upstream-client/upstream.ts'
import type {
  ResponseHandler,
  ResponseHeaders,
  UpstreamCall,
  UpstreamRequest,
} from '../../server/src/gateway/upstream-client/upstream.ts'
import { toUpstreamError, UpstreamError } from '../../server/src/gateway/upstream-client/upstream-error.ts'
import type { BatchedWrite } from '../../server/src/gateway/write-batch.ts'

type Controller = Dispatcher.DispatchController
const connect = buildConnector({ allowH2: false })
/** A longer body is written in parts of this length, each in another turn of the event loop. */
const partBytes = 256 * 1024

export const parseAddress = (origin: string) => ({ origin })

/** A `Client` of undici with one connection, which carries one request at a time. */
export class UpstreamConnection implements UpstreamCall, BatchedWrite, Dispatcher.DispatchHandler {
  readonly address: { origin: string }
  readonly pool: ConnectionPool
  readonly client: Client
  socket: Socket | null = null
  isClosed = false
  isPaused = false
  left = false
  reused = false
  receivedData = false
  isBodySent = false
  request: UpstreamRequest | null = null
  handler: ResponseHandler | null = null
  controller: Controller | null = null
  /** The free rest of the handler's buffer */
  room: Buffer | null = null
  /** Pieces of the body that arrived in this read */
  pieces: Buffer[] = []
  readonly emit = () => this.emitPieces()
  deadline: number

  constructor(address: { origin: string }, pool: ConnectionPool) {
    this.address = address
    this.pool = pool
    this.deadline = pool.deadline('connect')
    this.client = new Client(address.origin, {
      pipelining: 1,
      allowH2: false,
      // The pool's timer is cheaper, and its first limit ends with the first byte of the body.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (options, callback) =>
        connect(options, (error, socket) => {
          this.socket = socket ?? null
          callback(...([error, socket] as Parameters<typeof callback>))
        }),
    })
    this.client.on('connect', () => (this.deadline = pool.deadline('firstByte')))
    this.client.on('disconnect', () => {
      if (this.handler === null) this.close()
    })
  }

  get origin(): string {
    return this.address.origin
  }

  keepUntil(deadline: number): void {
    this.deadline = deadline
  }

  send(request: UpstreamRequest, handler: ResponseHandler): void {
    this.request = request
    this.handler = handler
    this.receivedData = false
    this.isBodySent = false
    this.room = null
    if (this.socket !== null) this.deadline = this.pool.deadline('firstByte')
  }

  flush(): void {
    const { request } = this
    this.request = null
    if (this.isClosed || request === null) return
    const { path, streams, requestId, authorization, traceparent } = request
    const accept = streams ? 'text/event-stream' : 'application/json'
    const headers = ['content-type', 'application/json', 'accept', accept, 'x-request-id', requestId]
    if (authorization !== null) headers.push('authorization', authorization)
    if (traceparent !== null) headers.push('traceparent', traceparent)
    const body = this.toBody(request, headers)
    this.client.dispatch({ path, method: 'POST', headers, body, blocking: false }, this)
  }

  /** Copies a short body into one buffer, which costs less than a write of each piece. */
  toBody({ body }: UpstreamRequest, headers: string[]): Buffer | Readable {
    if (typeof body === 'string') return Buffer.from(body, 'latin1')
    const length = lengthOf(body)
    if (length > partBytes) {
      headers.push('content-length', String(length))
      // undici takes any iterable, but its types don't.
      return writeParts(body) as unknown as Readable
    }
    this.isBodySent = true
    return Buffer.concat(body, length)
  }

  onRequestStart(controller: Controller): void {
    this.controller = controller
  }

  onResponseStarted(): void {
    this.receivedData = true
  }

  onResponseStart(
    _: Controller,
    status: number,
    fields: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200 || this.handler === null) return
    const headers: ResponseHeaders = {}
    for (const name of keptHeaders) {
      const value = fields[name]
      if (value !== undefined) headers[name] = typeof value === 'string' ? value : value[0]!
    }
    const length = fields['content-length']
    this.room = this.handler.onHead({ status, headers, length: length === undefined ? null : Number(length) })
  }

  onResponseData(_: Controller, bytes: Buffer): void {
    const { handler, room } = this
    if (handler === null) return
    if (!this.isPaused && !this.left) this.deadline = this.pool.deadline('idle')
    if (room === null) {
      // undici calls this for each chunk of a chunked body. The handler gets all of a read at once.
      if (this.pieces.push(bytes) === 1) queueMicrotask(this.emit)
      return
    }
    bytes.copy(room)
    this.room = room.subarray(bytes.length)
    handler.onBody(room.subarray(0, bytes.length))
  }

  emitPieces(): void {
    const { pieces, handler } = this
    if (pieces.length === 0) return
    this.pieces = []
    try {
      handler?.onBody(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces))
    } catch (error) {
      this.fail(toUpstreamError(error))
    }
  }

  onResponseEnd(): void {
    this.emitPieces()
    const { handler } = this
    if (handler === null) return
    this.detach()
    if (this.left) this.close()
    else {
      this.reused = true
      this.isPaused = false
      this.pool.onIdle(this as never)
    }
    try {
      handler.onEnd()
    } catch (error) {
      handler.onError(toUpstreamError(error))
    }
  }

  onResponseError(_: unknown, error: Error): void {
    this.emitPieces()
    const isStale = this.reused && !this.receivedData
    const kind = this.socket === null ? 'refused' : isStale ? 'stale' : 'broken'
    this.fail(new UpstreamError(kind, error.message, { cause: error }))
  }

  pause(): void {
    this.isPaused = true
    this.deadline = Infinity
    this.controller?.pause()
  }

  resume(): void {
    if (this.isClosed || !this.isPaused) return
    this.isPaused = false
    this.deadline = this.pool.deadline('idle')
    this.controller?.resume()
  }

  abort(): void {
    this.detach()
    this.close()
  }

  leave(handler: ResponseHandler): boolean {
    if (this.isClosed || this.controller === null || this.socket === null) return false
    this.handler = handler
    this.room = null
    this.left = true
    if (this.isPaused) this.resume()
    this.deadline = this.pool.deadline('leave')
    this.socket.end()
    return true
  }

  shutDown(): void {
    if (this.left) this.fail(new UpstreamError('broken', 'the client closes'))
    else this.abort()
  }

  checkDeadline(now: number): void {
    if (now < this.deadline) return
    this.fail(new UpstreamError(this.socket === null ? 'refused' : 'timeout', 'the upstream took too long'))
  }

  detach(): void {
    this.handler = null
    this.request = null
    this.controller = null
    this.pieces = []
  }

  fail(error: UpstreamError): void {
    const { handler } = this
    this.detach()
    this.close()
    handler?.onError(error)
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.client.destroy().catch(() => {})
    this.pool.onClosed(this as never)
  }
}

async function* writeParts(body: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (const piece of body) {
    for (let at = 0; at < piece.length; at += partBytes) {
      yield piece.subarray(at, at + partBytes)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}
