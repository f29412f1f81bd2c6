import type { AnswerReader, ReadPiece } from './answer-reader.ts'
import { isObject } from './loose-value.ts'
import { mayBegin } from './read-call.ts'
import type { KnownTools } from './read-call.ts'

const mark = /<\|(start|channel|constrain|message|end|return|call)\|>/
const marks = ['start', 'channel', 'constrain', 'message', 'end', 'return', 'call'].map(
  (name) => `<|${name}|>`,
)

/**
 * Reads gpt-oss's answers, whose messages have a header with role, channel and recipient
 * (developers.openai.com/cookbook/articles/openai-harmony). The prompt has opened `header`, the role.
 */
export class HarmonyReader implements AnswerReader {
  readonly #tools: KnownTools | null
  readonly #most: number
  #held = ''
  #offset = 0
  #header = ''
  /** The body of a call, which is reported when it ends */
  #call: { name: string; text: string } | null = null
  /** What the current message is; null within a header */
  #body: 'content' | 'reasoning' | 'call' | null = null
  #calls = 0
  #hasContent = false

  constructor(calls: { tools: KnownTools; most: number } | null) {
    this.#tools = calls?.tools ?? null
    this.#most = calls?.most ?? 0
  }

  push(text: string): ReadPiece[] {
    this.#held += text
    return this.#read(false)
  }

  finish(): ReadPiece[] {
    const pieces = this.#read(true)
    // A message whose header never ended, or a call that never did, is text.
    const rest = this.#call === null ? this.#header.trim() : this.#endCall(pieces)
    if (this.#body === null && rest !== '') pieces.push(this.#toContent(rest))
    return pieces
  }

  #read(isLast: boolean): ReadPiece[] {
    const pieces: ReadPiece[] = []
    for (;;) {
      const found = mark.exec(this.#held)
      if (found === null) {
        const safe = isLast ? this.#held.length : this.#held.length - this.#heldBack()
        this.#take(pieces, this.#held.slice(0, safe))
        this.#cut(safe)
        return pieces
      }
      this.#take(pieces, this.#held.slice(0, found.index))
      this.#cut(found.index + found[0].length)
      this.#pass(pieces, found[1]!, found[0])
    }
  }

  #pass(pieces: ReadPiece[], name: string, text: string): void {
    if (name === 'message' && this.#body === null) this.#open()
    else if (name === 'start' || name === 'end' || name === 'return' || name === 'call') {
      if (this.#call !== null) this.#endCall(pieces)
      this.#body = null
      this.#header = ''
    } else this.#header += text
  }

  #open(): void {
    const recipient = /\bto=(?:functions\.)?([\w.-]+)/.exec(this.#header)?.[1]
    const channel = /<\|channel\|>\s*(\w+)/.exec(this.#header)?.[1]
    this.#header = ''
    if (recipient !== undefined && recipient !== 'user' && this.#calls < this.#most) {
      this.#call = { name: recipient, text: '' }
      this.#body = 'call'
    } else {
      this.#body = channel === 'analysis' ? 'reasoning' : 'content'
      // Several messages of content are paragraphs.
      if (this.#body === 'content' && this.#hasContent) this.#separator = '\n\n'
    }
  }

  #separator = ''

  #take(pieces: ReadPiece[], text: string): void {
    if (text === '') return
    if (this.#body === null) this.#header += text
    else if (this.#call !== null) this.#call.text += text
    else if (this.#body === 'reasoning') pieces.push({ type: 'reasoning', text })
    else {
      pieces.push(this.#toContent(this.#separator + text))
      this.#separator = ''
    }
  }

  /** Reports a call, or content for any other text. */
  #endCall(pieces: ReadPiece[]): string {
    const { name, text } = this.#call!
    this.#call = null
    this.#body = null
    this.#header = ''
    const given = text.trim() === '' ? '{}' : text.trim()
    if (this.#tools?.has(name) === true && isObject(given)) {
      this.#calls++
      pieces.push({ type: 'call', name, arguments: given })
    } else if (text !== '') pieces.push(this.#toContent(text))
    return ''
  }

  #toContent(text: string): ReadPiece {
    this.#hasContent = true
    return { type: 'content', text, end: this.#offset + text.length }
  }

  #heldBack(): number {
    const at = this.#held.lastIndexOf('<')
    return at >= 0 && marks.some((each) => mayBegin(this.#held, at, each)) ? this.#held.length - at : 0
  }

  #cut(length: number): void {
    this.#held = this.#held.slice(length)
    this.#offset += length
  }
}
