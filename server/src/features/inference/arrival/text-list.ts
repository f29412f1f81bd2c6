import type { ApplicationError } from '../../../base/errors.ts'
import type { MemberValue } from '../../../gateway/json-walk.ts'
import { refuseField } from '../protocols/fields.ts'

const code = { quote: 0x22, comma: 0x2c, openBracket: 0x5b, closeBracket: 0x5d, backslash: 0x5c }
/** Bytes of a text to inspect before the next native search, which costs as much as about 64 of them */
const burst = 64

/**
 * Counts the texts of a member of valid JSON that is a text or a list of texts. Throws the caller's 400 that
 * names the first other item. It can pause after any number of bytes.
 */
export class TextListWalk {
  readonly #body: Buffer
  readonly #name: string
  readonly #isList: boolean
  readonly #end: number
  #position: number
  #inText = false
  #count = 0

  constructor(body: Buffer, { name, start, end }: MemberValue) {
    this.#body = body
    this.#name = name
    this.#isList = body[start] === code.openBracket
    this.#end = end
    this.#position = this.#isList ? start + 1 : start
    // The engine refuses other values.
    if (!this.#isList && body[start] !== code.quote) this.#position = end
  }

  get position(): number {
    return this.#position
  }

  /** The number of texts; null if the member is neither a text nor a list */
  get count(): number | null {
    return this.#isList || this.#count > 0 ? this.#count : null
  }

  /** Walks to the offset `to`, or to the end. Returns true at the end. */
  advance(to: number): boolean {
    const end = Math.min(to, this.#end)
    while (this.#position < end) {
      if (this.#inText) this.#walkText()
      else this.#walkStructure()
    }
    return this.#position >= this.#end
  }

  #walkStructure(): void {
    const byte = this.#body[this.#position]!
    if (byte === code.quote) {
      if (this.#body[this.#position + 1] === code.quote) throw this.#refuse('must not be empty.')
      this.#inText = true
      this.#count += 1
    } else if (byte > 0x20 && byte !== code.comma && byte !== code.closeBracket) throw this.#refuseItem(byte)
    this.#position += 1
  }

  #walkText(): void {
    const body = this.#body
    let position = this.#position
    const stop = position + burst
    while (position < stop && body[position] !== code.quote)
      position += body[position] === code.backslash ? 2 : 1
    if (body[position] !== code.quote) position = this.#skipText(position)
    if (body[position] === code.quote) this.#inText = false
    this.#position = position + (this.#inText ? 0 : 1)
  }

  /** Returns the offset of the text's last quote, or one before it, from the start `at` of a character. */
  #skipText(at: number): number {
    const body = this.#body
    const quote = body.indexOf(code.quote, at)
    const most = Math.min(quote - at, burst)
    let backslashes = 0
    while (backslashes < most && body[quote - 1 - backslashes] === code.backslash) backslashes += 1
    // Counting more of them for each burst would take too long.
    if (backslashes === burst) return at
    return backslashes % 2 === 0 ? quote : quote + 1
  }

  #refuseItem(byte: number): ApplicationError {
    const isToken = byte === code.openBracket || (byte >= 0x30 && byte <= 0x39)
    return this.#refuse(isToken ? holdsTokens : 'must be a text.')
  }

  #refuse(reason: string): ApplicationError {
    return refuseField(this.#isList ? `${this.#name}.${this.#count}` : this.#name, reason)
  }
}

/** Clients such as LangChain send tokens by default. OpenAI's mean other text here. */
const holdsTokens =
  'holds token ids, which may be those of another model’s tokenizer. Send texts. In LangChain, set ' +
  'check_embedding_ctx_length=False.'
