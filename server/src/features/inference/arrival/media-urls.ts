/** Engines fetch media from the addresses in a request. Only those that the operator trusts are allowed. */

import { ApplicationError } from '../../../base/errors.ts'
import { readPlainHost } from '../../../base/outgoing-addresses.ts'
import { openAiMedia } from '../protocols/media-formats.ts'
import type { MediaFormat } from '../protocols/media-formats.ts'

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
const comma = 0x2c
const open = { brace: 0x7b, bracket: 0x5b }
const close = { brace: 0x7d, bracket: 0x5d }

/** Members at the top level whose values are JSON Schemas, which engines don't follow */
const schemaMembers: ReadonlySet<string> = new Set(['tools', 'functions', 'response_format'])
const schemaLengths: ReadonlySet<number> = new Set([...schemaMembers].map(({ length }) => length))
/** The last letter of `url` */
const lastOfUrl = 0x6c
/** Longest name of a member that is decoded, escapes included */
const maxNameBytes = 512
/** Longest address */
const maxAddressBytes = 8192

/** In each escape of a letter or an underscore, and rare elsewhere: the search skips to its first byte. */
const zeros = '00'
/** An escape that stands for an underscore or a letter, which may hide a name */
const escapedLetter = /^\\u00(?:5f|[67])/i

/** After so many places that only look like an escape, the walk is quicker */
const maxCandidates = 500

/** Bytes that two parts of a body share, so that no name is missed between them: the length of an escape */
export const mediaOverlap = 6

/** True if a body or part may have media addresses. Quick, as most don't, and more so for byte texts. */
export function mayHaveMediaUrls(body: Buffer | string, { marks }: MediaFormat = openAiMedia): boolean {
  return marks.some((mark) => body.includes(mark)) || hasEscapedLetter(body)
}

function hasEscapedLetter(body: Buffer | string): boolean {
  let candidates = 0
  for (let at = body.indexOf(zeros, 2); at >= 0; at = body.indexOf(zeros, at + 1)) {
    if (escapedLetter.test(slice(body, at - 2, at + 4))) return true
    candidates += 1
    if (candidates === maxCandidates) return true
  }
  return false
}

function slice(body: Buffer | string, start: number, end: number): string {
  return typeof body === 'string' ? body.slice(start, end) : body.toString('latin1', start, end)
}

/** True for a `data:` URL and a plain http or https URL with a host of `domains`, in lowercase. */
export function isAllowedMediaUrl(url: string, domains: ReadonlySet<string>): boolean {
  if (/^data:/i.test(url)) return true
  const host = readPlainHost(url)
  return host !== null && domains.has(host)
}

/**
 * Finds the media addresses in a valid JSON body, and throws the caller's 400 for the first forbidden one.
 * They are texts of members whose names end in `_url`, in their arrays, and of members `url` inside them, at
 * any depth. It builds no objects, and can pause after any number of bytes.
 */
export class MediaWalk {
  readonly #body: Buffer
  readonly #domains: ReadonlySet<string>
  readonly #format: MediaFormat
  #position = 0
  #depth = 0
  /** Offset after the opening quote of the current string; -1 outside of strings */
  #start = -1
  /** The current string, or the last one, has an escape */
  #isEscaped = false
  /** The last string, until it turns out to be a name or a value */
  #text: { start: number; end: number } | null = null
  /** The name of the next value, '' for one that doesn't matter; null before a name or an element */
  #name: string | null = null
  /** Depth of the outermost object or array below a name that ends in `_url` */
  #mediaDepth = Infinity
  /** Depth of the outermost object or array below an ignored name */
  #ignoredDepth = Infinity
  #isSchema = false

  constructor(body: Buffer, domains: ReadonlySet<string>, format: MediaFormat = openAiMedia) {
    this.#body = body
    this.#domains = domains
    this.#format = format
  }

  /** The offset after what was walked */
  get position(): number {
    return this.#position
  }

  /** Walks to the offset `to`, or to the end. Returns true at the end. */
  advance(to: number): boolean {
    const body = this.#body
    const end = Math.min(to, body.length)
    while (this.#position < end) {
      if (this.#start >= 0) this.#walkString(end)
      else {
        this.#walkStructure(body[this.#position]!)
        this.#position += 1
      }
    }
    return this.#position >= body.length
  }

  #walkString(end: number): void {
    const body = this.#body
    let position = this.#position
    while (position < end && body[position] !== quote) {
      const escapes = body[position] === backslash
      if (escapes) this.#isEscaped = true
      position += escapes ? 2 : 1
    }
    this.#position = position
    if (position >= end) return
    this.#endString(this.#start, position)
    this.#start = -1
    this.#position += 1
  }

  #endString(start: number, end: number): void {
    if (this.#name === null) {
      this.#text = { start, end }
      return
    }
    if (this.#isMedia(this.#name)) this.#check(start, end)
    this.#name = null
  }

  #isMedia(name: string): boolean {
    return name.endsWith('_url') || (name === 'url' && this.#depth >= this.#mediaDepth)
  }

  #walkStructure(byte: number): void {
    if (byte === quote) {
      this.#start = this.#position + 1
      this.#isEscaped = false
    } else if (byte === colon) this.#startValue()
    else if (byte === open.brace || byte === open.bracket) this.#enter()
    else if (byte === close.brace || byte === close.bracket) this.#leave()
    else if (byte === comma) this.#endElement()
  }

  /** Ends a member, or an element of an array. */
  #endElement(): void {
    if (this.#text !== null && this.#depth >= this.#mediaDepth) this.#check(this.#text.start, this.#text.end)
    this.#text = null
    this.#name = null
  }

  #startValue(): void {
    const text = this.#text
    const name =
      text !== null && this.#mayMatter(text) ? this.#decode(text.start, text.end, maxNameBytes) : null
    this.#text = null
    if (this.#depth === 1) this.#isSchema = schemaMembers.has(name ?? '')
    this.#name = this.#isSchema ? '' : (name ?? '')
  }

  /** False for most names, without decoding them: a body can have millions. */
  #mayMatter({ start, end }: { start: number; end: number }): boolean {
    if (this.#isEscaped || this.#body[end - 1] === lastOfUrl || this.#format.container !== null) return true
    return this.#depth === 1 && schemaLengths.has(end - start)
  }

  #enter(): void {
    this.#depth += 1
    const name = this.#name
    const format = this.#format
    if (name !== null && name !== '') {
      const holdsUrls = name.endsWith('_url') || name === format.container
      if (holdsUrls && this.#mediaDepth === Infinity) this.#mediaDepth = this.#depth
      const isIgnored = name === format.ignored && this.#depth > 2
      if (isIgnored && this.#ignoredDepth === Infinity) this.#ignoredDepth = this.#depth
    }
    this.#name = null
  }

  #leave(): void {
    this.#endElement()
    this.#depth -= 1
    if (this.#depth < this.#mediaDepth) this.#mediaDepth = Infinity
    if (this.#depth < this.#ignoredDepth) this.#ignoredDepth = Infinity
  }

  #check(start: number, end: number): void {
    if (this.#ignoredDepth !== Infinity) return
    // The data of an image is long and needs no decoding.
    if (/^data:/i.test(this.#body.toString('latin1', start, Math.min(end, start + 5)))) return
    const url = this.#decode(start, end, maxAddressBytes)
    if (url !== null && isAllowedMediaUrl(url, this.#domains)) return
    throw new ApplicationError('invalid_request_error', refuse(this.#domains))
  }

  /** The text of a string; null if it is longer than `limit` bytes or has an invalid escape. */
  #decode(start: number, end: number, limit: number): string | null {
    if (end - start > limit) return null
    try {
      return String(JSON.parse(this.#body.toString('utf8', start - 1, end + 1)))
    } catch {
      return null
    }
  }
}

function refuse(domains: ReadonlySet<string>): string {
  const allowed =
    domains.size === 0
      ? 'This server fetches no media.'
      : `This server fetches media only from ${[...domains].join(', ')}.`
  return `${allowed} Send images, audio and video as \`data:\` URLs.`
}
