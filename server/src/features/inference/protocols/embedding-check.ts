import { NumberScan } from '../../../gateway/number-scan.ts'
import { InvalidResponse } from '../../../base/invalid-response.ts'
import type { BodyCheck } from './protocol.ts'

const memberName = 'embedding"'
/** What may be the start of a member `embedding`, and an escape before it, at the end of a text */
const openEnd = /\\?(?:"e?m?b?e?d?d?i?n?g?"?[ \t\r\n]*:?[ \t\r\n]*)?$/
const openEndReach = 64
/** Longest text around the embeddings, which has about 60 bytes for each */
const maxAroundBytes = 16 * 1024 * 1024
const maxBase64Bytes = 1024 * 1024

const code = { quote: 0x22, colon: 0x3a, openBracket: 0x5b, closeBracket: 0x5d, backslash: 0x5c }

let sharedScan: NumberScan | null = null

/**
 * Checks that a response has one embedding for each text, all of the same length, without parsing them: the
 * text around the embeddings is parsed, with a number in the place of each.
 */
export class EmbeddingCheck implements BodyCheck {
  /** null when the request has no texts that Berth could count */
  readonly #texts: number | null
  readonly #scan = (sharedScan ??= new NumberScan())
  /** The response with the number of each embedding in its place */
  #around = ''
  /** The values of each embedding */
  readonly #lengths: number[] = []
  /** What the next byte belongs to */
  #part: 'around' | 'numbers' | 'base64' = 'around'
  /** Commas of the present list, and whether it has a number */
  #commas = 0
  #hasNumber = false
  /** The present base64 */
  #base64 = ''
  /** The end of the last piece, which may be the start of a member */
  #held: Buffer = Buffer.alloc(0)

  constructor(texts: number | null) {
    this.#texts = texts
  }

  take(piece: Buffer): void {
    const bytes = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece])
    this.#held = noBytes
    let at = 0
    while (at < bytes.length) {
      if (this.#part === 'around') at = this.#passAround(bytes, at)
      else if (this.#part === 'numbers') at = this.#passNumbers(bytes, at)
      else at = this.#passBase64(bytes, at)
    }
  }

  finish(): void {
    this.#addAround(this.#held.toString('latin1'))
    if (this.#part !== 'around') throw new InvalidResponse('an embedding without an end')
    checkList(parse(this.#around), this.#lengths, this.#texts)
  }

  /** Passes the text up to the next embedding, and returns the offset of its first value. */
  #passAround(bytes: Buffer, at: number): number {
    for (let name = bytes.indexOf(memberName, at); name !== -1; name = bytes.indexOf(memberName, name + 1)) {
      if (bytes[name - 1] !== code.quote || bytes[name - 2] === code.backslash) continue
      const colon = skipSpaces(bytes, name + memberName.length)
      if (bytes[colon] !== code.colon) continue
      const start = skipSpaces(bytes, colon + 1)
      if (bytes[start] !== code.openBracket && bytes[start] !== code.quote) continue
      this.#addAround(`${bytes.toString('latin1', at, start)}${this.#lengths.length}`)
      this.#part = bytes[start] === code.quote ? 'base64' : 'numbers'
      this.#commas = 0
      this.#hasNumber = false
      return start + 1
    }
    const end = bytes.toString('latin1', Math.max(at, bytes.length - openEndReach))
    const held = bytes.length - openEnd.exec(end)![0].length
    this.#addAround(bytes.toString('latin1', at, held))
    if (held < bytes.length) this.#held = Buffer.from(bytes.subarray(held))
    return bytes.length
  }

  #addAround(text: string): void {
    this.#around += text
    if (this.#around.length > maxAroundBytes) throw new InvalidResponse('a response that is too long')
  }

  #passNumbers(bytes: Buffer, at: number): number {
    const end = this.#scan.scan(bytes, at)
    this.#commas += this.#scan.commas
    this.#hasNumber ||= this.#commas > 0 || /\d/.test(bytes.toString('latin1', at, end))
    if (end === bytes.length) return end
    if (bytes[end] !== code.closeBracket) throw new InvalidResponse(noNumbers)
    this.#endEmbedding(this.#hasNumber ? this.#commas + 1 : 0)
    return end + 1
  }

  #passBase64(bytes: Buffer, at: number): number {
    const quote = bytes.indexOf(code.quote, at)
    const end = quote === -1 ? bytes.length : quote
    this.#base64 += bytes.toString('latin1', at, end)
    if (this.#base64.length > maxBase64Bytes) throw new InvalidResponse('an embedding that is too long')
    if (quote === -1) return end
    this.#endEmbedding(countFloats(this.#base64))
    this.#base64 = ''
    return end + 1
  }

  #endEmbedding(length: number): void {
    this.#lengths.push(length)
    this.#part = 'around'
  }
}

const noBytes: Buffer = Buffer.alloc(0)

function skipSpaces(bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at] === 0x20 || (bytes[at]! >= 0x09 && bytes[at]! <= 0x0d)) at += 1
  return at
}

/** Returns the number of 32-bit floats in base64. Throws if one of them is NaN or infinite. */
function countFloats(base64: string): number {
  const bytes = Buffer.allocUnsafe(Math.ceil((base64.length * 3) / 4))
  const length = bytes.write(base64, 'base64')
  if (length % 4 !== 0) throw new InvalidResponse('an embedding that is no list of 32-bit floats')
  // Node aligns buffers to eight bytes.
  const bits = new Int32Array(bytes.buffer, bytes.byteOffset, length / 4)
  for (let at = 0; at < bits.length; at += 1) {
    if ((bits[at]! & exponent) === exponent) throw new InvalidResponse(noNumbers)
  }
  return bits.length
}

/** The bits of a float that are all set in NaN and infinity */
const exponent = 0x7f_80_00_00
const noNumbers = 'an embedding with values that are no numbers'

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidResponse('a response that is not valid JSON')
  }
}

interface Item {
  index?: unknown
  embedding?: unknown
}

/** Checks the items of a response whose embeddings are replaced by their positions in `lengths`. */
function checkList(response: unknown, lengths: readonly number[], texts: number | null): void {
  const { data } = (response ?? {}) as { data?: unknown }
  if (!Array.isArray(data)) throw new InvalidResponse('no embeddings')
  const expected = texts ?? data.length
  if (data.length !== expected) {
    throw new InvalidResponse(`${count(data.length, 'embedding')} for ${count(expected, 'text')}`)
  }
  const indexes = new Set<unknown>()
  let embeddings = 0
  for (const item of data as (Item | null)[]) {
    const { index, embedding } = item ?? {}
    if (!Number.isInteger(index) || Number(index) < 0 || Number(index) >= expected) {
      throw new InvalidResponse('an embedding whose index belongs to no text')
    }
    if (indexes.has(index)) throw new InvalidResponse(`two embeddings with the index ${Number(index)}`)
    indexes.add(index)
    // Some engines send sparse embeddings, on request, as objects.
    if (typeof embedding === 'object' && embedding !== null) continue
    checkLength(embedding === embeddings ? lengths[embeddings]! : 0, lengths)
    embeddings += 1
  }
}

function checkLength(length: number, [first]: readonly number[]): void {
  if (length === 0) throw new InvalidResponse('an item without an embedding')
  if (length !== first) {
    throw new InvalidResponse(`embeddings of different lengths: ${first} and ${length} values`)
  }
}

function count(number: number, noun: string): string {
  return number === 1 ? `one ${noun}` : `${number} ${noun}s`
}
