import { longestHead, mayBecomeHead, parseHead } from './answer-head.ts'
import type { ParsedHead } from './answer-head.ts'
import { ChunkedReader } from './chunked.ts'
import { EngineFailure } from './client.ts'
import type { AnswerHandler } from './client.ts'

const blankLine = Buffer.from('\r\n\r\n')

/**
 * Reads one answer from bytes in whatever pieces they come, and tells its handler of head and body; that it has ended is for others to
 * tell. Throws an `EngineFailure` where it is not well-formed.
 */
export class AnswerReader {
  /** null: nobody wants to hear more */
  handler: AnswerHandler | null
  head: ParsedHead | null = null
  /** A byte of the body has come */
  begun = false
  /** The answer is there to its end */
  whole = false
  /** Bytes that came behind its end */
  excess = 0
  /** The beginning of a head whose end has not come */
  rest: Buffer | null = null
  /** Bytes of a body whose length is known that are still to come */
  remaining = 0
  /** Where the handler wants what is still to come of the body */
  room: Buffer | null = null
  chunks: ChunkedReader | null = null

  constructor(handler: AnswerHandler) {
    this.handler = handler
  }

  /** `bytes` may be overwritten. */
  read(bytes: Buffer): void {
    if (this.head === null) this.readHead(bytes)
    else this.readBody(bytes)
  }

  /** The connection has ended: true where that is the answer's end. */
  close(): boolean {
    return this.head?.framing === 'close'
  }

  readHead(bytes: Buffer): void {
    const all = this.rest === null ? bytes : Buffer.concat([this.rest, bytes])
    const end = all.indexOf(blankLine)
    if ((end < 0 ? all.length : end) > longestHead) throw malformed('has a head without an end')
    if (end < 0) {
      if (!mayBecomeHead(all)) throw malformed('is none of HTTP/1.1')
      this.rest = this.rest === null ? Buffer.from(all) : all
      return
    }
    this.rest = null
    const head = parseHead(all.toString('latin1', 0, end + 2))
    const body = all.subarray(end + 4)
    if (head.status === 101) throw malformed('switches protocols unasked')
    if (head.status < 200) {
      if (body.length > 0) this.readHead(body)
      return
    }
    this.head = head
    this.remaining = head.length ?? 0
    if (head.framing === 'chunked') this.chunks = new ChunkedReader()
    const room = this.handler?.onHead(head) ?? null
    // With a byte more than the answer has: a read that fills its buffer would be followed by another.
    if (room !== null && head.framing === 'length') this.room = room.subarray(0, this.remaining + 1)
    this.readBody(body)
  }

  readBody(bytes: Buffer): void {
    if (this.chunks !== null) return this.readChunks(this.chunks, bytes)
    const isLast = this.head!.framing === 'close'
    const data = isLast ? bytes : this.place(bytes.subarray(0, this.remaining))
    if (data.length > 0) this.tell(data)
    if (isLast) return
    this.remaining -= data.length
    this.excess = bytes.length - data.length
    this.whole = this.remaining === 0
  }

  /** Puts a piece of the body where the handler wants it, unless it was read there. */
  place(data: Buffer): Buffer {
    const { room } = this
    if (room === null) return data
    if (data.buffer !== room.buffer) data.copy(room)
    this.room = room.subarray(data.length)
    return room.subarray(0, data.length)
  }

  tell(data: Buffer): void {
    this.begun = true
    this.handler?.onBody(data)
  }

  readChunks(chunks: ChunkedReader, bytes: Buffer): void {
    const data = chunks.decode(bytes)
    if (data.length > 0) this.tell(data)
    if (chunks.broken) throw malformed('has a chunk that is none')
    this.excess = bytes.length - chunks.consumed
    this.whole = chunks.ended
  }
}

function malformed(what: string): EngineFailure {
  return new EngineFailure('broken', `the engine’s answer ${what}`)
}
