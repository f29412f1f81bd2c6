import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'

/** Backpressure control of a stream's source. */
export interface FlowControl {
  readonly isPaused: boolean
  pause(): void
  resume(): void
}

/** Most bytes that wait for a slow reader before the source is paused */
const maxBacklogBytes = 64 * 1024
/** From this length on, joining a text with its frame costs more than writing three pieces */
const longText = 4096

/**
 * The body of a response whose head was set with `writeHead`. The chunks are written directly to the socket,
 * which costs a third of `ServerResponse.write`. Texts have one character per byte.
 */
export class ResponseStream {
  readonly #raw: ServerResponse
  #source: FlowControl | null
  #pending = ''
  #isEnded = false
  #isHeadFlushed = false

  constructor(raw: ServerResponse, source: FlowControl | null) {
    this.#raw = raw
    this.#source = source
  }

  /** Adds text to the next flush. */
  push(text: string): void {
    this.#pending += text
  }

  /** Ends the response with the next flush. */
  end(): void {
    this.#isEnded = true
  }

  /** Writes the head, the pending text and the end in one system call. Pauses the source for slow readers. */
  flush(): void {
    const raw = this.#raw
    const pending = this.#pending
    this.#pending = ''
    // The response has no socket until the previous response on the same connection has ended.
    const out: Writable = raw.socket ?? raw
    out.cork()
    if (!this.#isHeadFlushed) {
      this.#isHeadFlushed = true
      raw.flushHeaders()
    }
    if (pending !== '') writeText(out, pending, out !== raw && raw.chunkedEncoding)
    if (this.#isEnded) raw.end()
    out.uncork()
    if (raw.writableLength > 0) this.#applyBackpressure(out)
  }

  #applyBackpressure(out: Writable): void {
    const raw = this.#raw
    const source = this.#source
    if (this.#isEnded || raw.writableLength < maxBacklogBytes || source === null || source.isPaused) return
    source.pause()
    out.once('drain', () => source.resume())
  }

  /** Writes the pending text and closes the connection, so that the reader notices the truncation. */
  truncate(): void {
    this.#source = null
    this.#isEnded = false
    this.flush()
    truncateResponse(this.#raw)
  }

  /** Drops the pending text: the reader has left. */
  discard(): void {
    this.#pending = ''
  }
}

/** Closes the connection once everything written was sent, without the end of the body. */
export function truncateResponse(raw: ServerResponse): void {
  if (raw.socket !== null) return raw.socket.destroySoon()
  // The response gets its socket when the previous response ends, and then writes what it has buffered.
  raw.once('socket', (socket) => setImmediate(() => socket.destroySoon()))
}

/** Writes text, one character per byte, as a chunk of a chunked body or unchanged. */
function writeText(out: Writable, text: string, isChunked: boolean): void {
  if (!isChunked) return void out.write(text, 'latin1')
  const size = `${text.length.toString(16)}\r\n`
  if (text.length < longText) return void out.write(`${size}${text}\r\n`, 'latin1')
  out.write(size, 'latin1')
  out.write(text, 'latin1')
  out.write('\r\n', 'latin1')
}
