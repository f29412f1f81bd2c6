import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { TurnTask } from '../turn.ts'
import { AnswerReader } from './answer-reader.ts'
import { EngineFailure, lengthOf, toFailure } from './client.ts'
import type { AnswerHandler, EngineCall, EngineRequest } from './client.ts'

/** Where connections to an engine go. */
export interface EngineAddress {
  origin: string
  hostname: string
  port: number
  secure: boolean
  /** As the header `host` has it */
  host: string
}

export function parseAddress(origin: string): EngineAddress {
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

/** What a connection asks of the client that it belongs to. */
export interface ConnectionOwner {
  /** Read into by all connections: what it holds is taken before the next one reads */
  readonly buffer: Buffer
  /** Its beginning, for heads: what comes behind the head of a long answer is read to where it is held */
  readonly headBuffer: Buffer
  /** When something must have happened that may take `kind` of time; on the owner’s clock */
  deadline(kind: 'connect' | 'firstByte' | 'idle'): number
  /** An answer was read to its end and another request may follow */
  onIdle(connection: EngineConnection): void
  /** The connection has ended */
  onClosed(connection: EngineConnection): void
}

/** A connection of HTTP/1.1 to an engine, which carries one request at a time. A class for the sake of memory: there are many. */
export class EngineConnection implements EngineCall, TurnTask {
  readonly address: EngineAddress
  readonly owner: ConnectionOwner
  readonly socket: Socket
  connected = false
  closed = false
  paused = false
  /** An answer came on it before */
  used = false
  /** A byte has come since the request was sent */
  heard = false
  /** A request that is not written yet */
  request: EngineRequest | null = null
  handler: AnswerHandler | null = null
  /** Reads the answer of the request that is under way; null while none is */
  reader: AnswerReader | null = null
  /** On the owner’s clock; when the connection is given up unless something comes */
  deadline: number

  constructor(address: EngineAddress, owner: ConnectionOwner) {
    this.address = address
    this.owner = owner
    this.deadline = owner.deadline('connect')
    const { hostname: host, port, secure } = address
    this.socket = secure
      ? connectTls({
          host,
          port,
          servername: /^[\d.]+$|:/.test(host) ? '' : host,
          ALPNProtocols: ['http/1.1'],
        })
      : connect({
          host,
          port,
          onread: {
            buffer: () => this.nextBuffer(),
            callback: (length, buffer) => this.onRead(length, buffer),
          },
        })
    this.socket.setNoDelay(true)
    if (secure) this.socket.on('data', (bytes: Buffer) => this.read(bytes))
    this.socket
      .once(secure ? 'secureConnect' : 'connect', () => this.onConnect())
      .on('error', (error) => this.onError(error))
      .on('end', () => this.onEnd())
      .on('close', () => this.onEnd())
  }

  /** Takes a request, which `atTurnEnd` writes. */
  send(request: EngineRequest, handler: AnswerHandler): void {
    this.request = request
    this.handler = handler
    this.reader = new AnswerReader(handler)
    this.heard = false
    if (this.connected) this.deadline = this.owner.deadline('firstByte')
  }

  /** Writes the request: with one write, or with one for its head and the pieces of its body together. */
  atTurnEnd(): void {
    const { request, socket } = this
    this.request = null
    if (this.closed || request === null) return
    if (request.authorization !== null && unsafe.test(request.authorization)) {
      const failure = new EngineFailure('broken', 'the engine’s authorization can’t be sent')
      // Its handler does not know of the request yet.
      setImmediate(() => this.fail(failure))
      return
    }
    const head = composeHead(this.address.host, request)
    if (typeof request.body === 'string') {
      socket.write(head + request.body, 'latin1')
      return
    }
    socket.cork()
    socket.write(head, 'latin1')
    for (const piece of request.body) socket.write(piece)
    socket.uncork()
  }

  pause(): void {
    this.paused = true
    // For how long its reader may keep an engine waiting is not for this side to say.
    this.deadline = Infinity
    this.socket.pause()
  }

  resume(): void {
    if (this.closed || !this.paused) return
    this.paused = false
    this.deadline = this.owner.deadline('idle')
    this.socket.resume()
  }

  abort(): void {
    this.forget()
    this.close()
  }

  /** Called now and then: gives up what has taken too long. */
  checkTime(now: number): void {
    if (now < this.deadline) return
    if (!this.connected) this.fail(new EngineFailure('refused', 'no connection in time'))
    else this.fail(new EngineFailure('silent', 'the engine did not answer in time'))
  }

  onConnect(): void {
    this.connected = true
    this.deadline = this.owner.deadline('firstByte')
  }

  /** Where the next bytes are read to. */
  nextBuffer(): Buffer {
    const { reader, owner } = this
    if (reader === null || reader.head === null) return owner.headBuffer
    return reader.room === null || reader.room.length === 0 ? owner.buffer : reader.room
  }

  onRead(length: number, buffer: Uint8Array): boolean {
    this.read(Buffer.from(buffer.buffer, buffer.byteOffset, length))
    return true
  }

  onError(error: Error): void {
    this.fail(new EngineFailure(this.failureKind(), error.message, { cause: error }))
  }

  onEnd(): void {
    if (this.closed) return
    if (this.reader?.close()) this.endAnswer(false)
    else this.fail(new EngineFailure(this.failureKind(), 'the engine closed the connection'))
  }

  failureKind(): 'refused' | 'stale' | 'broken' {
    if (!this.connected) return 'refused'
    return this.used && !this.heard ? 'stale' : 'broken'
  }

  read(bytes: Buffer): void {
    const { reader } = this
    // What an engine says unasked is no answer to what it is asked next.
    if (reader === null) return this.close()
    this.heard = true
    try {
      reader.read(bytes)
    } catch (error) {
      return this.fail(toFailure(error))
    }
    if (reader.handler === null) return
    if (reader.whole) this.endAnswer(reader.head!.keepsAlive && reader.excess === 0)
    else if (reader.begun && !this.paused) this.deadline = this.owner.deadline('idle')
  }

  endAnswer(keepsAlive: boolean): void {
    const handler = this.handler!
    this.forget()
    if (keepsAlive && this.socket.writableLength === 0) {
      this.used = true
      if (this.paused) this.resume()
      this.owner.onIdle(this)
    } else this.close()
    try {
      handler.onEnd()
    } catch (error) {
      handler.onFailure(toFailure(error))
    }
  }

  forget(): void {
    if (this.reader !== null) this.reader.handler = null
    this.reader = null
    this.handler = null
    this.request = null
  }

  fail(failure: EngineFailure): void {
    const { handler } = this
    this.forget()
    this.close()
    handler?.onFailure(failure)
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    this.socket.destroy()
    this.owner.onClosed(this)
  }
}

const unsafe = /[^\t\x20-\x7e\x80-\xff]/

function composeHead(host: string, request: EngineRequest): string {
  const { path, streams, requestId, authorization, traceparent, body } = request
  const fields =
    `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n` +
    `content-type: application/json\r\naccept: ${streams ? 'text/event-stream' : 'application/json'}\r\n` +
    `x-request-id: ${requestId}\r\ncontent-length: ${lengthOf(body)}\r\n`
  return `${fields}${authorization === null ? '' : `authorization: ${authorization}\r\n`}${
    traceparent === null ? '' : `traceparent: ${traceparent}\r\n`
  }\r\n`
}
