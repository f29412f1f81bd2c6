import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { BatchedWrite } from '../write-batch.ts'
import { ResponseReader } from './response-reader.ts'
import { lengthOf } from './upstream.ts'
import type { ResponseHandler, UpstreamCall, UpstreamRequest } from './upstream.ts'
import { toUpstreamError, UpstreamError } from './upstream-error.ts'

/** Where a connection goes. */
export interface UpstreamAddress {
  origin: string
  hostname: string
  port: number
  secure: boolean
  /** Value of the `host` header */
  host: string
}

export function parseAddress(origin: string): UpstreamAddress {
  const { protocol, hostname, port, host } = new URL(origin)
  const secure = protocol === 'https:'
  return {
    origin,
    hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (secure ? 443 : 80) : Number(port),
    secure,
    host,
  }
}

/** Opens the socket of a connection. It emits `secureConnect`, or `connect` without TLS. */
export type OpenSocket = (address: UpstreamAddress) => Socket

/** The name that a server has to prove; none for an IP address, which its certificate names itself. */
export function toServerName(hostname: string): string {
  return /^[\d.]+$|:/.test(hostname) ? '' : hostname
}

/** What a connection needs from its pool. */
export interface ConnectionPool {
  /** Read buffer of all connections: its contents are consumed before the next connection reads */
  readonly buffer: Buffer
  /** The start of `buffer`, for heads: a long body is read directly into the handler's buffer */
  readonly headBuffer: Buffer
  /** When the timeout `kind` expires if it starts now, on the pool's clock */
  deadline(kind: 'connect' | 'firstByte' | 'idle' | 'leave'): number
  /** The connection is ready for another request. */
  onIdle(connection: UpstreamConnection): void
  onClosed(connection: UpstreamConnection): void
}

/** A longer body is written in parts of this length, because one write would block the process. */
const partBytes = 256 * 1024

/** An HTTP/1.1 connection that carries one request at a time. A class, so that many share their methods. */
export class UpstreamConnection implements UpstreamCall, BatchedWrite {
  readonly #address: UpstreamAddress
  readonly #pool: ConnectionPool
  readonly #isOutside: boolean
  readonly #socket: Socket
  #isConnected = false
  #isClosed = false
  #isPaused = false
  /** This side is closed */
  #isLeft = false
  /** The connection has carried a complete response before */
  #isReused = false
  /** A byte has arrived since the request was sent */
  #hasReceived = false
  /** A request that is not written yet */
  #request: UpstreamRequest | null = null
  /** Pieces of the body that are not written yet */
  #unsent: Buffer[] = []
  #isBodySent = false
  #handler: ResponseHandler | null = null
  /** Reads the current response; null between requests */
  #reader: ResponseReader | null = null
  /** When to give up unless data arrives, on the pool's clock */
  #deadline: number

  /** `openSocket` is null for a connection by the usual rules. */
  constructor(address: UpstreamAddress, pool: ConnectionPool, openSocket: OpenSocket | null) {
    this.#address = address
    this.#pool = pool
    this.#isOutside = openSocket !== null
    this.#deadline = pool.deadline('connect')
    const { hostname: host, port, secure } = address
    this.#socket =
      openSocket !== null
        ? openSocket(address)
        : secure
          ? connectTls({ host, port, servername: toServerName(host), ALPNProtocols: ['http/1.1'] })
          : connect({
              host,
              port,
              onread: {
                buffer: () => this.#nextReadBuffer(),
                callback: (length, buffer) => this.#onRead(length, buffer),
              },
            })
    this.#socket.setNoDelay(true)
    const onEnd = () => this.#onSocketEnd()
    if (secure || this.#isOutside) this.#socket.on('data', (bytes: Buffer) => this.#read(bytes))
    this.#socket
      .once(secure ? 'secureConnect' : 'connect', () => this.#onConnect())
      .on('error', (error) => this.#onSocketError(error))
      .on('end', onEnd)
      .on('close', onEnd)
  }

  get origin(): string {
    return this.#address.origin
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  get isBodySent(): boolean {
    return this.#isBodySent
  }

  /** Gives up at this time on the pool's clock unless another request comes. */
  keepUntil(deadline: number): void {
    this.#deadline = deadline
  }

  /** Accepts a request. `flush` writes it. */
  send(request: UpstreamRequest, handler: ResponseHandler): void {
    this.#request = request
    this.#handler = handler
    this.#reader = new ResponseReader(handler)
    this.#hasReceived = false
    this.#isBodySent = false
    if (this.#isConnected) this.#deadline = this.#pool.deadline('firstByte')
  }

  /** Writes head and body with one system call, unless the body is long. */
  flush(): void {
    const request = this.#request
    const socket = this.#socket
    this.#request = null
    if (this.#isClosed || request === null) return
    if (request.authorization !== null && unsafeInHeader.test(request.authorization)) {
      const error = new UpstreamError('broken', 'the authorization header contains invalid characters')
      // In a later turn: the handler must not be called while its request is being sent.
      setImmediate(() => this.#fail(error))
      return
    }
    const head = composeHead(this.#address.host, request, this.#isOutside)
    if (typeof request.body === 'string') {
      socket.write(head + request.body, 'latin1')
      return
    }
    socket.cork()
    socket.write(head, 'latin1')
    this.#unsent = [...request.body]
    this.#writePart()
    socket.uncork()
  }

  /** Writes the next part of the body. The event loop turns before the part after it. */
  #writePart(): void {
    if (this.#isClosed) return
    const unsent = this.#unsent
    const socket = this.#socket
    const onWritten = (error?: Error | null) => {
      if (error) return
      if (unsent.length > 0) setImmediate(() => this.#writePart())
      else this.#isBodySent = true
    }
    for (let room = partBytes; room > 0 && unsent.length > 0;) {
      const [piece] = unsent as [Buffer]
      const part = piece.subarray(0, room)
      room -= part.length
      if (part.length === piece.length) unsent.shift()
      else unsent[0] = piece.subarray(part.length)
      if (room > 0 && unsent.length > 0) socket.write(part)
      else socket.write(part, onWritten)
    }
  }

  pause(): void {
    this.#isPaused = true
    // The upstream is not responsible for the time that its reader takes.
    this.#deadline = Infinity
    this.#socket.pause()
  }

  resume(): void {
    if (this.#isClosed || !this.#isPaused) return
    this.#isPaused = false
    this.#deadline = this.#pool.deadline('idle')
    this.#socket.resume()
  }

  abort(): void {
    this.#detachHandler()
    this.#close()
  }

  leave(handler: ResponseHandler): boolean {
    const reader = this.#reader
    const isSent = this.#isConnected && this.#request === null && this.#unsent.length === 0
    if (this.#isClosed || reader === null || !isSent) return false
    this.#handler = handler
    reader.handOver(handler)
    this.#isLeft = true
    if (this.#isPaused) this.resume()
    this.#deadline = this.#pool.deadline('leave')
    this.#socket.end()
    return true
  }

  /** Ends the call because the pool closes. A response that was left gets an end, so its usage counts. */
  shutDown(): void {
    if (this.#isLeft) this.#fail(new UpstreamError('broken', 'the client closes'))
    else this.abort()
  }

  /** Fails the request if its deadline has passed. The pool calls this periodically. */
  checkDeadline(now: number): void {
    if (now < this.#deadline) return
    if (!this.#isConnected) this.#fail(new UpstreamError('refused', 'connecting to the upstream timed out'))
    else this.#fail(new UpstreamError('timeout', 'the upstream did not respond in time'))
  }

  #onConnect(): void {
    this.#isConnected = true
    this.#deadline = this.#pool.deadline('firstByte')
  }

  #nextReadBuffer(): Buffer {
    const reader = this.#reader
    const pool = this.#pool
    if (reader === null || reader.isHeadPending) return pool.headBuffer
    return reader.room ?? pool.buffer
  }

  #onRead(length: number, buffer: Uint8Array): boolean {
    this.#read(Buffer.from(buffer.buffer, buffer.byteOffset, length))
    return true
  }

  #onSocketError(error: Error): void {
    this.#fail(new UpstreamError(this.#closeErrorKind(), error.message, { cause: error }))
  }

  #onSocketEnd(): void {
    if (this.#isClosed) return
    if (this.#reader?.endsOnClose === true) this.#endResponse(false)
    else this.#fail(new UpstreamError(this.#closeErrorKind(), 'the upstream closed the connection'))
  }

  #closeErrorKind(): 'refused' | 'stale' | 'broken' {
    if (!this.#isConnected) return 'refused'
    return this.#isReused && !this.#hasReceived ? 'stale' : 'broken'
  }

  #read(bytes: Buffer): void {
    const reader = this.#reader
    // Unsolicited data on an idle connection must not become the response to the next request.
    if (reader === null) return this.#close()
    this.#hasReceived = true
    try {
      reader.read(bytes)
    } catch (error) {
      return this.#fail(toUpstreamError(error))
    }
    if (!reader.isRead) return
    if (reader.isComplete) this.#endResponse(reader.keepsAlive && reader.excess === 0)
    else if (reader.hasBodyBegun && !this.#isPaused && !this.#isLeft)
      this.#deadline = this.#pool.deadline('idle')
  }

  #endResponse(keepsAlive: boolean): void {
    const handler = this.#handler!
    this.#detachHandler()
    if (keepsAlive && !this.#isLeft && this.#unsent.length === 0 && this.#socket.writableLength === 0) {
      this.#isReused = true
      if (this.#isPaused) this.resume()
      this.#pool.onIdle(this)
    } else this.#close()
    try {
      handler.onEnd()
    } catch (error) {
      handler.onError(toUpstreamError(error))
    }
  }

  #detachHandler(): void {
    this.#reader?.handOver(null)
    this.#reader = null
    this.#handler = null
    this.#request = null
  }

  #fail(error: UpstreamError): void {
    const handler = this.#handler
    this.#detachHandler()
    this.#close()
    handler?.onError(error)
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#socket.destroy()
    this.#pool.onClosed(this)
  }
}

const unsafeInHeader = /[^\t\x20-\x7e\x80-\xff]/

/** Servers of others may refuse requests that don't say who sends them. */
function composeHead(host: string, request: UpstreamRequest, namesSender: boolean): string {
  const { path, streams, requestId, authorization, keyHeader, traceparent, body } = request
  const fields =
    `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${namesSender ? 'user-agent: Berth\r\n' : ''}` +
    `content-type: application/json\r\naccept: ${streams ? 'text/event-stream' : 'application/json'}\r\n` +
    `x-request-id: ${requestId}\r\ncontent-length: ${lengthOf(body)}\r\n`
  return `${fields}${authorization === null ? '' : `${keyHeader ?? 'authorization'}: ${authorization}\r\n`}${
    traceparent === null ? '' : `traceparent: ${traceparent}\r\n`
  }\r\n`
}
