// Berth's upstream client, made of undici: `berth-undici` runs with it instead of ours.
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { buildConnector, Client } from 'undici'
import type { Dispatcher } from 'undici'
import {
  keptHeaders,
  lengthOf,
  leaveMilliseconds,
} from '../../server/src/gateway/upstream-client/upstream.ts'
import type {
  ResponseHandler,
  ResponseHeaders,
  UpstreamCall,
  UpstreamClient,
  UpstreamRequest,
  UpstreamTimeouts,
} from '../../server/src/gateway/upstream-client/upstream.ts'
import { toUpstreamError, UpstreamError } from '../../server/src/gateway/upstream-client/upstream-error.ts'
import type { BatchedWrite, WriteBatch } from '../../server/src/gateway/write-batch.ts'

const keepAliveMilliseconds = 4_000
/** A longer body is written in parts of this length, each in a turn of the event loop of its own. */
const partBytes = 256 * 1024

type Limits = UpstreamTimeouts & { leave: number }

interface Pool {
  connect: ReturnType<typeof buildConnector>
  deadline(kind: keyof Limits): number
  onIdle(connection: Connection): void
  onClosed(connection: Connection): void
}

/** One `Client` of undici with one connection, which carries one request at a time. */
class Connection implements UpstreamCall, BatchedWrite, Dispatcher.DispatchHandler {
  readonly origin: string
  readonly pool: Pool
  readonly client: Client
  socket: Socket | null = null
  closed = false
  paused = false
  left = false
  reused = false
  receivedData = false
  bodyStarted = false
  bodySent = false
  request: UpstreamRequest | null = null
  handler: ResponseHandler | null = null
  controller: Dispatcher.DispatchController | null = null
  /** The free rest of the handler's own buffer */
  room: Buffer | null = null
  /** Pieces of the body that arrived in this read */
  pieces: Buffer[] = []
  readonly emit = () => this.emitPieces()
  deadline: number

  constructor(origin: string, pool: Pool) {
    this.origin = origin
    this.pool = pool
    this.deadline = pool.deadline('connect')
    this.client = new Client(origin, {
      pipelining: 1,
      allowH2: false,
      // The pool's one timer is cheaper, and its limit ends with the first byte of the body.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: keepAliveMilliseconds,
      connect: (options, callback) =>
        pool.connect(options, (error, socket) => {
          this.socket = (socket ?? null) as Socket | null
          callback(...([error, socket] as Parameters<typeof callback>))
        }),
    })
    this.client.on('connect', () => this.onConnect())
    this.client.on('disconnect', () => this.onDisconnect())
  }

  send(request: UpstreamRequest, handler: ResponseHandler): void {
    this.request = request
    this.handler = handler
    this.receivedData = false
    this.bodyStarted = false
    this.bodySent = false
    this.room = null
    if (this.socket !== null) this.deadline = this.pool.deadline('firstByte')
  }

  flush(): void {
    const { request } = this
    this.request = null
    if (this.closed || request === null) return
    const { path, streams, requestId, authorization, traceparent } = request
    const headers = [
      'content-type',
      'application/json',
      'accept',
      streams ? 'text/event-stream' : 'application/json',
      'x-request-id',
      requestId,
    ]
    if (authorization !== null) headers.push('authorization', authorization)
    if (traceparent !== null) headers.push('traceparent', traceparent)
    this.client.dispatch(
      { path, method: 'POST', headers, body: this.toBody(request, headers), blocking: false },
      this,
    )
  }

  /** Short bodies are copied into one buffer, which costs less than a write for each piece. */
  toBody({ body }: UpstreamRequest, headers: string[]): Buffer | Readable {
    if (typeof body === 'string') return Buffer.from(body, 'latin1')
    const length = lengthOf(body)
    if (length > partBytes) {
      headers.push('content-length', String(length))
      // undici takes any iterable, which its types don't say.
      return this.writeParts(body) as unknown as Readable
    }
    this.bodySent = true
    return Buffer.concat(body, length)
  }

  async *writeParts(body: readonly Buffer[]): AsyncGenerator<Buffer> {
    for (const piece of body) {
      for (let at = 0; at < piece.length; at += partBytes) {
        yield piece.subarray(at, at + partBytes)
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
  }

  onResponseStarted(): void {
    this.receivedData = true
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
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

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    const { handler, room } = this
    if (handler === null) return
    this.bodyStarted = true
    if (!this.paused && !this.left) this.deadline = this.pool.deadline('idle')
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
      this.paused = false
      this.pool.onIdle(this)
    }
    try {
      handler.onEnd()
    } catch (error) {
      handler.onError(toUpstreamError(error))
    }
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.emitPieces()
    if (error instanceof UpstreamError) return this.fail(error)
    const stale = this.reused && !this.receivedData
    const kind = this.socket === null ? 'refused' : stale ? 'stale' : 'broken'
    this.fail(new UpstreamError(kind, error.message, { cause: error }))
  }

  onConnect(): void {
    this.reused = false
    this.deadline = this.pool.deadline('firstByte')
  }

  onDisconnect(): void {
    if (this.handler === null) this.close()
  }

  pause(): void {
    this.paused = true
    this.deadline = Infinity
    this.controller?.pause()
  }

  resume(): void {
    if (this.closed || !this.paused) return
    this.paused = false
    this.deadline = this.pool.deadline('idle')
    this.controller?.resume()
  }

  abort(): void {
    this.detach()
    this.close()
  }

  leave(handler: ResponseHandler): boolean {
    if (this.closed || this.controller === null || this.socket === null) return false
    this.handler = handler
    this.room = null
    this.left = true
    if (this.paused) this.resume()
    this.deadline = this.pool.deadline('leave')
    this.socket.end()
    return true
  }

  shutDown(): void {
    if (this.left) this.fail(new UpstreamError('broken', 'the client closes'))
    else this.abort()
  }

  checkDeadline(now: number): void {
    if (now < this.deadline || this.handler === null) return
    if (this.socket === null) this.fail(new UpstreamError('refused', 'connecting to the upstream timed out'))
    else this.fail(new UpstreamError('timeout', 'the upstream did not respond in time'))
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
    if (this.closed) return
    this.closed = true
    this.client.destroy().catch(() => {})
    this.pool.onClosed(this)
  }
}

export function createUpstreamClient(timeouts: UpstreamTimeouts, writeBatch: WriteBatch): UpstreamClient {
  const idle = new Map<string, Connection[]>()
  const all = new Set<Connection>()
  let returned: Connection[] = []
  const limits: Limits = { ...timeouts, leave: leaveMilliseconds }
  const tick = Math.min(1000, Math.max(20, Math.min(...Object.values(timeouts)) / 4))
  let timer: NodeJS.Timeout | null = null
  let now = 0

  const pool: Pool = {
    connect: buildConnector({ timeout: timeouts.connect, allowH2: false }),
    deadline: (kind) => now + limits[kind] + tick,
    onIdle(connection) {
      if (returned.push(connection) === 1) setImmediate(keepReturned)
    },
    onClosed(connection) {
      all.delete(connection)
      const kept = idle.get(connection.origin)
      const index = kept?.indexOf(connection) ?? -1
      if (index >= 0) kept!.splice(index, 1)
      if (all.size > 0 || timer === null) return
      clearInterval(timer)
      timer = null
      idle.clear()
    },
  }

  function keepReturned(): void {
    const connections = returned
    returned = []
    for (const connection of connections) {
      if (connection.closed) continue
      const kept = idle.get(connection.origin)
      if (kept === undefined) idle.set(connection.origin, [connection])
      else kept.push(connection)
    }
  }

  function open(origin: string): Connection {
    if (timer === null) {
      now = performance.now()
      timer = setInterval(checkDeadlines, tick)
    }
    const connection = new Connection(origin, pool)
    all.add(connection)
    return connection
  }

  function checkDeadlines(): void {
    now = performance.now()
    for (const connection of all) connection.checkDeadline(now)
  }

  return {
    send(origin, request, handler) {
      const connection = idle.get(origin)?.pop() ?? open(origin)
      connection.send(request, handler)
      writeBatch.flushOrDefer(connection)
      return connection
    },
    size: () => all.size,
    async close() {
      for (const connection of all) connection.shutDown()
      idle.clear()
    },
  }
}
