import { copyText } from '../../../base/copy-text.ts'
import type { BodyRewriter } from './protocol.ts'
import { InvalidResponse } from '../../../base/invalid-response.ts'

// No opening quote: the search jumps between occurrences of the first character; quotes are frequent.
const memberName = 'embedding"'
const openList = /embedding"[ \t\r\n]*:[ \t\r\n]*\[/y
/** What may be the start of a member with a list, and an escape before it, at the end of a text */
const openEnd = /\\?(?:"e?m?b?e?d?d?i?n?g?"?[ \t\r\n]*:?[ \t\r\n]*)?$/
const openEndReach = 64
const maxListBytes = 1024 * 1024

/**
 * Encodes the embeddings of a response as OpenAI does: base64 of little-endian 32-bit floats. Replaces only
 * members `embedding` that are lists of numbers, as they arrive. Quotes inside strings are escaped, so text
 * can't look like a member. Texts have one character per byte.
 */
export class EmbeddingEncoder implements BodyRewriter {
  /** An incomplete member */
  #rest = ''

  take(bytes: string): string {
    const all = this.#rest + bytes
    let encoded = ''
    let copied = 0
    for (let at = all.indexOf(memberName); at !== -1; at = all.indexOf(memberName, at + 1)) {
      openList.lastIndex = at
      if (all[at - 1] !== '"' || all[at - 2] === '\\' || !openList.test(all)) continue
      const start = openList.lastIndex - 1
      const end = all.indexOf(']', start) + 1
      if (end === 0) return encoded + this.#keep(all, copied, at - 1)
      encoded += all.slice(copied, start) + encodeList(all.slice(start, end))
      copied = end
      at = end
    }
    const held = openEnd.exec(all.slice(-openEndReach))![0].length
    return encoded + this.#keep(all, copied, Math.max(copied, all.length - held))
  }

  finish(): string {
    return this.#rest
  }

  /** Keeps the text from `to` on and returns the text before it. */
  #keep(all: string, from: number, to: number): string {
    if (all.length - to > maxListBytes) throw new InvalidResponse('an embedding that is too long')
    // A copy, because a slice would keep all of the text in memory.
    this.#rest = copyText(all.slice(to))
    return all.slice(from, to)
  }
}

/** Returns the text unchanged if it is not a list of values. */
function encodeList(text: string): string {
  let values: unknown[]
  try {
    values = JSON.parse(text)
  } catch {
    return text
  }
  const bytes = Buffer.alloc(values.length * 4)
  values.forEach((value, index) => bytes.writeFloatLE(Number(value), index * 4))
  return `"${bytes.toString('base64')}"`
}
