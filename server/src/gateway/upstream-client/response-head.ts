import { keptHeaders } from './upstream.ts'
import type { ResponseHead, ResponseHeaders } from './upstream.ts'
import { UpstreamError } from './upstream-error.ts'

/** Most bytes in a head, including informational responses before it */
export const maxHeadBytes = 16 * 1024

/** How the end of a body is determined (RFC 9112, section 6.3). */
export type Framing = 'none' | 'chunked' | 'length' | 'close'

export interface ParsedHead extends ResponseHead {
  framing: Framing
  /** The connection can be reused after the response */
  keepsAlive: boolean
}

const statusLine = /HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?\r\n/y
const headerLine = /([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)\r\n/y

type KeptName = keyof ResponseHeaders
const kept: ReadonlySet<string> = new Set(keptHeaders)

/**
 * Parses an HTTP/1.1 head up to the blank line, which `text` lacks. Strict, because heads that two parsers
 * read differently enable request smuggling: lines end in CRLF, no folding, one length.
 */
export function parseHead(text: string): ParsedHead {
  statusLine.lastIndex = 0
  const start = statusLine.exec(text)
  if (start === null) throw malformed('no HTTP/1 status line')
  const headers: ResponseHeaders = {}
  const status = Number(start[2])
  let length: number | null = null
  let coding: string | null = null
  let keepsAlive = start[1] === '1'
  let position = statusLine.lastIndex
  while (position < text.length) {
    headerLine.lastIndex = position
    const line = headerLine.exec(text)
    if (line === null) throw malformed('a malformed header line')
    position = headerLine.lastIndex
    const name = line[1]!.toLowerCase()
    if (name === 'content-length') {
      if (length !== null) throw malformed('two content-length headers')
      length = readLength(line[2]!.trim())
    } else if (name === 'transfer-encoding') {
      if (coding !== null) throw malformed('two transfer-encoding headers')
      coding = line[2]!.trim().toLowerCase()
    } else if (name === 'connection') {
      if (/\bclose\b/i.test(line[2]!)) keepsAlive = false
    } else if (kept.has(name)) {
      headers[name as KeptName] ??= line[2]!.trim()
    }
  }
  if (coding !== null) {
    if (length !== null) throw malformed('both content-length and transfer-encoding')
    if (coding !== 'chunked' || start[1] === '0') throw malformed('an unknown transfer-encoding')
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

const headPrefix = Buffer.from('HTTP/1.')
const lineFeed = 0x0a
const carriageReturn = 0x0d

/** False when bytes without a blank line cannot become a valid head, however many more bytes follow. */
export function mayBecomeHead(bytes: Buffer): boolean {
  const seen = Math.min(bytes.length, headPrefix.length)
  if (bytes.compare(headPrefix, 0, seen, 0, seen) !== 0) return false
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
  if (!/^\d{1,15}$/.test(value)) throw malformed('a malformed content-length')
  return Number(value)
}

function malformed(problem: string): UpstreamError {
  return new UpstreamError('broken', `the upstream response has ${problem}`)
}
