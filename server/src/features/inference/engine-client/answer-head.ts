import { EngineFailure, keptHeaders } from './client.ts'
import type { AnswerHead, AnswerHeaders } from './client.ts'

/** Bytes of a head at most, those of informational answers before it included. */
export const longestHead = 16 * 1024

/** How the end of a body is known, in the order of RFC 9112, section 6.3. */
export type Framing = 'none' | 'chunked' | 'length' | 'close'

export interface ParsedHead extends AnswerHead {
  framing: Framing
  /** The engine takes another request on this connection */
  keepsAlive: boolean
}

const statusLine = /HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?\r\n/y
const headerLine = /([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)\r\n/y

type KnownName = keyof AnswerHeaders
const kept: ReadonlySet<string> = new Set(keptHeaders)

/**
 * Reads a head of HTTP/1.1 from its first byte to the blank line, which is left out. Strict, because what two readers read in two ways is how
 * requests are smuggled: lines end in CRLF, nothing is folded, and the length is given once and in one way.
 */
export function parseHead(text: string): ParsedHead {
  statusLine.lastIndex = 0
  const start = statusLine.exec(text)
  if (start === null) throw malformed('no status line of HTTP/1')
  const headers: AnswerHeaders = {}
  const status = Number(start[2])
  let length: number | null = null
  let coding: string | null = null
  let keepsAlive = start[1] === '1'
  let position = statusLine.lastIndex
  while (position < text.length) {
    headerLine.lastIndex = position
    const line = headerLine.exec(text)
    if (line === null) throw malformed('a header that is none')
    position = headerLine.lastIndex
    const name = line[1]!.toLowerCase()
    if (name === 'content-length') {
      if (length !== null) throw malformed('two lengths')
      length = readLength(line[2]!.trim())
    } else if (name === 'transfer-encoding') {
      if (coding !== null) throw malformed('two transfer codings')
      coding = line[2]!.trim().toLowerCase()
    } else if (name === 'connection') {
      if (/\bclose\b/i.test(line[2]!)) keepsAlive = false
    } else if (kept.has(name)) {
      headers[name as KnownName] ??= line[2]!.trim()
    }
  }
  if (coding !== null) {
    if (length !== null) throw malformed('a length and a transfer coding')
    if (coding !== 'chunked' || start[1] === '0') throw malformed('an unknown transfer coding')
  }
  const framing = toFraming(status, coding, length)
  return {
    status,
    headers,
    length: framing === 'none' ? 0 : length,
    framing,
    keepsAlive: keepsAlive && framing !== 'close',
  }
}

const beginning = Buffer.from('HTTP/1.')
const lineFeed = 0x0a
const carriageReturn = 0x0d

/** False where bytes without a blank line are certainly no beginning of a head: whoever sends them may wait for more forever. */
export function mayBecomeHead(bytes: Buffer): boolean {
  const seen = Math.min(bytes.length, beginning.length)
  if (bytes.compare(beginning, 0, seen, 0, seen) !== 0) return false
  for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) {
    if (bytes[at - 1] !== carriageReturn) return false
  }
  return true
}

function toFraming(status: number, coding: string | null, length: number | null): Framing {
  if (status < 200 || status === 204 || status === 304) return 'none'
  if (coding !== null) return 'chunked'
  return length === null ? 'close' : 'length'
}

function readLength(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw malformed('a length that is none')
  return Number(value)
}

function malformed(what: string): EngineFailure {
  return new EngineFailure('broken', `the engine’s answer has ${what}`)
}
