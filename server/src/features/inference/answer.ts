import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { ApplicationError } from '../../errors.ts'
import { toAnswerHeaders } from './answer-headers.ts'
import { encodeEmbeddings } from './base64-embeddings.ts'
import type { AnswerHead, AnswerHeaders } from './engine-client/client.ts'
import { readEngineError } from './engine-errors.ts'
import type { CallerReply, Exchange } from './exchange.ts'
import { heldBytes } from './held-buffers.ts'
import { meterStream } from './stream-meter.ts'
import type { StreamMeter } from './stream-meter.ts'
import type { TurnTask } from './turn.ts'
import { edgeLength, readEdgeUsage, readUsage } from './usage.ts'

/** Answers that must be rewritten may be as long as this. */
const rewrittenBytes = 128 * 1024 * 1024
/** Bytes that may wait for a slow caller before the engine is paused. */
const waitingBytes = 64 * 1024
/** Answers up to this many bytes go out as a string, in one piece with their heads. */
const textBytes = 16 * 1024
const notReadySeconds = 5

/** How the body of an answer reaches the caller. */
type Passage =
  /** Held until it is whole */
  | 'held'
  /** Held until it is whole, and rewritten */
  | 'rewritten'
  /** Piece by piece, because it is long */
  | 'passed'
  /** Event by event */
  | 'streamed'

/** The answer of an engine on its way to the caller. Bytes that are not held stand in strings, one for each character. */
export class Answer implements TurnTask {
  readonly exchange: Exchange
  readonly reply: CallerReply
  readonly raw: ServerResponse
  passage: Passage = 'held'
  status = 0
  headers: AnswerHeaders = noHeaders
  /** As the engine announced it */
  length: number | null = null
  /** A short answer that came in one piece */
  text: string | null = null
  held: Buffer | null = null
  pieces: Buffer[] | null = null
  /** Bytes that are held */
  size = 0
  /** What is to be written at the end of the turn */
  pending = ''
  scheduled = false
  /** The engine has ended */
  ended = false
  headFlushed = false
  meter: StreamMeter | null = null
  /** The first bytes of a long answer, and its last: some engines tell its usage before all else */
  start = ''
  tail = ''
  /** When the engine’s answer, where it is held, was whole */
  wholeAt = 0
  passedAt = 0

  constructor(exchange: Exchange, reply: CallerReply) {
    this.exchange = exchange
    this.reply = reply
    this.raw = reply.raw
  }

  /** Returns where the body is to be read to, if it is held there. */
  begin({ status, headers, length }: AnswerHead): Buffer | null {
    this.status = status
    this.headers = headers
    this.length = length
    const { asked } = this.exchange
    if (headers['content-type']?.startsWith('text/event-stream')) {
      this.passage = 'streamed'
      this.meter = meterStream(!asked.includesUsage)
      this.writeHead(null)
      this.schedule()
    } else if (status === 200 && asked.wantsBase64) {
      this.passage = 'rewritten'
      this.pieces = []
    } else if (length !== null && length > textBytes && length < heldBytes) {
      this.held = this.exchange.application.engines.buffers.take()
    }
    return this.held
  }

  take(bytes: Buffer): void {
    if (this.passage === 'streamed') this.pass(this.meter!.take(bytes.toString('latin1')))
    else if (this.passage === 'passed') this.passLong(bytes)
    else if (this.passage === 'rewritten') this.keepPiece(bytes)
    else this.hold(bytes)
  }

  hold(bytes: Buffer): void {
    if (bytes.length === this.length && bytes.length <= textBytes) {
      this.text = bytes.toString('latin1')
      return
    }
    if (this.size + bytes.length <= heldBytes) {
      this.held ??= this.exchange.application.engines.buffers.take()
      // The client may have read it there.
      if (bytes.buffer !== this.held.buffer) bytes.copy(this.held, this.size)
      this.size += bytes.length
      return
    }
    this.passage = 'passed'
    this.writeHead(this.length)
    const held = this.held?.subarray(0, this.size)
    this.start = (held ?? bytes).toString('latin1', 0, edgeLength)
    if (held !== undefined) this.passLong(held)
    this.giveBack()
    this.passLong(bytes)
  }

  keepPiece(bytes: Buffer): void {
    this.pieces!.push(Buffer.from(bytes))
    this.size += bytes.length
    if (this.size > rewrittenBytes) throw new Error('the engine’s answer is too long to be rewritten')
  }

  passLong(bytes: Buffer): void {
    const text = bytes.toString('latin1')
    this.tail = (this.tail + text).slice(-edgeLength)
    this.pass(text)
  }

  pass(text: string): void {
    if (text === '') return
    this.pending += text
    this.schedule()
  }

  schedule(): void {
    if (this.scheduled) return
    this.scheduled = true
    this.exchange.application.engines.turn.atEnd(this)
  }

  /** The engine's answer is there to its end. */
  end(): void {
    this.ended = true
    if (this.passage === 'held' || this.passage === 'rewritten') {
      this.wholeAt = performance.now()
      if (this.status === 200) this.readWhole()
      return this.exchange.application.engines.turn.soon(this)
    }
    if (this.meter === null) this.exchange.record(readEdgeUsage(this.tail) ?? readEdgeUsage(this.start))
    else {
      this.pending += this.meter.finish()
      this.exchange.record(this.meter.usage())
    }
    this.schedule()
  }

  /** Writes what has come; what it throws becomes the caller's error. */
  atTurnEnd(): void {
    this.scheduled = false
    if (this.exchange.closed) return
    // What was used outlives a kill before the caller has his answer.
    this.exchange.application.tokens.write()
    try {
      if (this.passage === 'held' || this.passage === 'rewritten') this.writeWhole()
      else this.flush()
    } catch (error) {
      this.exchange.call?.abort()
      this.exchange.call = null
      this.exchange.leave()
      this.exchange.fail(error)
    }
  }

  writeHead(length: number | null): void {
    const streams = this.passage === 'streamed'
    this.raw.writeHead(
      this.status,
      toAnswerHeaders(this.reply.getHeaders(), this.headers, { length, streams }),
    )
    // From here on the answer is ours; before, an error could still be answered in the usual way.
    this.reply.hijack()
    this.passedAt = performance.now()
  }

  /** Writes to the connection itself, in chunks where the head says so: it costs a third of what the response's own way does. */
  flush(): void {
    const { raw, pending } = this
    this.pending = ''
    // An earlier request's answer on the same connection is not at its end yet.
    const out: Writable = raw.socket ?? raw
    out.cork()
    if (!this.headFlushed) {
      this.headFlushed = true
      raw.flushHeaders()
    }
    if (pending !== '') out.write(out !== raw && raw.chunkedEncoding ? toChunk(pending) : pending, 'latin1')
    if (this.ended) raw.end()
    out.uncork()
    if (raw.writableLength === 0) return
    if (this.ended) return this.limitStall()
    const { call } = this.exchange
    if (raw.writableLength < waitingBytes || call === null || call.paused) return
    call.pause()
    this.limitStall()
    out.once('drain', () => {
      raw.socket?.setTimeout(0)
      call.resume()
    })
  }

  writeWhole(): void {
    const { exchange, status } = this
    let body = this.readHeld()
    if (status >= 400) {
      const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body
      const told = readEngineError(status, bytes, exchange.target!.modelUid)
      if (told === 'gone') return this.tellGone()
      if (told !== bytes) {
        this.headers = { ...this.headers, 'content-type': 'application/json' }
        body = told
      }
    }
    this.writeHead(body.length)
    if (typeof body === 'string') this.raw.end(body, 'latin1')
    else this.raw.end(body)
    if (this.raw.writableLength > 0) this.limitStall()
  }

  readHeld(): string | Buffer {
    if (this.text !== null) return this.text
    if (this.pieces !== null) return Buffer.concat(this.pieces)
    return this.held === null ? '' : this.held.subarray(0, this.size)
  }

  /** Counts what was used, and rewrites what must be. */
  readWhole(): void {
    const body = this.readHeld()
    const parsed = this.passage === 'rewritten' ? parse(body) : null
    const end =
      typeof body === 'string'
        ? body.slice(-edgeLength)
        : body.toString('latin1', Math.max(0, body.length - edgeLength))
    this.exchange.record(readEdgeUsage(end) ?? readUsage(parsed ?? parse(body)))
    const encoded = parsed === null ? null : encodeEmbeddings(parsed)
    if (encoded !== null) this.pieces = [Buffer.from(JSON.stringify(encoded))]
  }

  /** The engine is there and the model is not: a worker starts it again. */
  tellGone(): void {
    const { exchange } = this
    const target = exchange.target!
    exchange.reportSilence(target)
    const message = `The deployment of ${target.modelName} is being started again.`
    void this.reply.send(
      new ApplicationError('unavailable', 'deployment_not_ready', message, notReadySeconds),
    )
  }

  /** What has come still goes out; without the end that the protocol asks for the caller sees that more was to come. */
  breakOff(): void {
    const { exchange, raw } = this
    if (this.meter !== null) exchange.record(this.meter.usage())
    this.ended = false
    if (this.passage === 'streamed' || this.passage === 'passed') this.flush()
    if (raw.socket !== null) return raw.socket.destroySoon()
    // It is given its connection once an earlier request's answer has ended there, and writes in that moment what waited.
    raw.once('socket', (socket) => setImmediate(() => socket.destroySoon()))
  }

  /** Ends the connection of a caller who takes nothing for as long as an engine may be silent. */
  limitStall(): void {
    this.raw.socket?.setTimeout(this.exchange.application.engines.timeouts.idle)
  }

  /** The caller's connection has ended, or his answer has. */
  close(): void {
    if (this.raw.writableFinished) return this.giveBack()
    if (this.meter !== null) this.exchange.record(this.meter.usage())
    this.pending = ''
    // What is still being written is not for others to write into.
    this.held = null
    this.pieces = null
  }

  giveBack(): void {
    if (this.held !== null) this.exchange.application.engines.buffers.give(this.held)
    this.held = null
  }
}

const noHeaders: AnswerHeaders = {}

function toChunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`
}

function parse(body: string | Buffer): unknown {
  try {
    return JSON.parse(typeof body === 'string' ? Buffer.from(body, 'latin1').toString() : body.toString())
  } catch {
    return null
  }
}
