import { ChunkedDecoder } from './chunked-decoder.ts'
import { maxHeadBytes, mayBecomeHead, parseHead } from './response-head.ts'
import type { Framing } from './response-head.ts'
import type { ResponseHandler } from './upstream.ts'
import { UpstreamError } from './upstream-error.ts'

const blankLine = Buffer.from('\r\n\r\n')

/** Reads a response for a handler. The connection calls its `onEnd` and `onError`. Throws `UpstreamError`. */
export class ResponseReader {
  /** null after the call was aborted or ended */
  #handler: ResponseHandler | null
  /** null until the head is complete. The head itself is not kept, because a stream may be open for long */
  #framing: Framing | null = null
  #keepsAlive = false
  #hasBodyBegun = false
  #isComplete = false
  #excess = 0
  /** An incomplete head */
  #partialHead: Buffer | null = null
  /** Bytes of the body still to come when its length is known */
  #remaining = 0
  #room: Buffer | null = null
  #chunks: ChunkedDecoder | null = null

  constructor(handler: ResponseHandler) {
    this.#handler = handler
  }

  /** Reads the next piece, and may overwrite `bytes`. */
  read(bytes: Buffer): void {
    if (this.#framing === null) this.#readHead(bytes)
    else this.#readBody(bytes)
  }

  /** Passes the rest to another handler, or to none. */
  handOver(handler: ResponseHandler | null): void {
    this.#handler = handler
    this.#room = null
  }

  /** False after the call was aborted or ended */
  get isRead(): boolean {
    return this.#handler !== null
  }

  get isHeadPending(): boolean {
    return this.#framing === null
  }

  /** A byte of the body has arrived */
  get hasBodyBegun(): boolean {
    return this.#hasBodyBegun
  }

  /** The part of the handler's buffer that is still to be filled; null for none */
  get room(): Buffer | null {
    return this.#room === null || this.#room.length === 0 ? null : this.#room
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  /** The connection can be reused after the response */
  get keepsAlive(): boolean {
    return this.#keepsAlive
  }

  /** Bytes received after the end of the response */
  get excess(): number {
    return this.#excess
  }

  /** The end of the connection is the end of the response. */
  get endsOnClose(): boolean {
    return this.#framing === 'close'
  }

  #readHead(bytes: Buffer): void {
    const all = this.#partialHead === null ? bytes : Buffer.concat([this.#partialHead, bytes])
    const end = all.indexOf(blankLine)
    if ((end < 0 ? all.length : end) > maxHeadBytes) throw malformed('head is too long')
    if (end < 0) {
      if (!mayBecomeHead(all)) throw malformed('is not HTTP/1.1')
      this.#partialHead = this.#partialHead === null ? Buffer.from(all) : all
      return
    }
    this.#partialHead = null
    const head = parseHead(all.toString('latin1', 0, end + 2))
    const body = all.subarray(end + 4)
    if (head.status === 101) throw malformed('switches protocols')
    if (head.status < 200) {
      if (body.length > 0) this.#readHead(body)
      return
    }
    this.#framing = head.framing
    this.#keepsAlive = head.keepsAlive
    this.#remaining = head.length ?? 0
    if (head.framing === 'chunked') this.#chunks = new ChunkedDecoder()
    const room = this.#handler?.onHead(head) ?? null
    // One byte more than the body: a read that fills its buffer exactly would be followed by another read.
    if (room !== null && head.framing === 'length') this.#room = room.subarray(0, this.#remaining + 1)
    this.#readBody(body)
  }

  #readBody(bytes: Buffer): void {
    if (this.#chunks !== null) return this.#readChunks(this.#chunks, bytes)
    const endsOnClose = this.#framing === 'close'
    const data = endsOnClose ? bytes : this.#placeInRoom(bytes.subarray(0, this.#remaining))
    if (data.length > 0) this.#emit(data)
    if (endsOnClose) return
    this.#remaining -= data.length
    this.#excess = bytes.length - data.length
    this.#isComplete = this.#remaining === 0
  }

  /** Copies a piece of the body into the handler's buffer unless it was read there. */
  #placeInRoom(data: Buffer): Buffer {
    const room = this.#room
    if (room === null) return data
    if (data.buffer !== room.buffer) data.copy(room)
    this.#room = room.subarray(data.length)
    return room.subarray(0, data.length)
  }

  #emit(data: Buffer): void {
    this.#hasBodyBegun = true
    this.#handler?.onBody(data)
  }

  #readChunks(chunks: ChunkedDecoder, bytes: Buffer): void {
    const data = chunks.decode(bytes)
    if (data.length > 0) this.#emit(data)
    if (chunks.isMalformed) throw malformed('has a malformed chunk')
    this.#excess = bytes.length - chunks.consumed
    this.#isComplete = chunks.isComplete
  }
}

function malformed(problem: string): UpstreamError {
  return new UpstreamError('broken', `the upstream response ${problem}`)
}
