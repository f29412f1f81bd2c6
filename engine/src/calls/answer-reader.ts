import type { CallFormat, ThoughtFormat } from './call-format.ts'
import { mayBegin, readNextCall, sectionMark, skipLoosely, skipSpace } from './read-call.ts'
import type { KnownTools } from './read-call.ts'

/** A part of an answer that has been read. `end` is its place in the generated text. */
export type ReadPiece =
  | { type: 'content'; text: string; end: number }
  | { type: 'reasoning'; text: string }
  | { type: 'call'; name: string; arguments: string }

/** Reads the text of an answer during its generation. */
export interface AnswerReader {
  push: (text: string) => ReadPiece[]
  /** Returns what was held back. */
  finish: () => ReadPiece[]
}

/** The calls that an answer may make. */
export interface AllowedCalls {
  format: CallFormat
  tools: KnownTools
  /** The most calls of one answer */
  most: number
}

/** What the reader must know about a model and a request. */
export interface AnswerForm {
  thoughts: ThoughtFormat | null
  /** True if the prompt has opened a thought */
  startsInThought: boolean
  /** Null if the answer can't call tools */
  calls: AllowedCalls | null
}

/** Reads answers with marks. Holds back text that may begin one. Incomplete or unknown calls are content. */
export class MarkedAnswerReader implements AnswerReader {
  readonly #form: AnswerForm
  #state: 'start' | 'thought' | 'afterThought' | 'content' | 'calls'
  #held = ''
  /** The place of the held text in the generated text */
  #offset = 0
  /** White space that is dropped unless more of the same kind follows */
  #blank = ''
  #isLast = false
  /** True within a thought or content that has begun */
  #hasBegun = false
  #calls = 0
  #isFirstOfSection = true
  /** Characters at the start of the held text that begin no call */
  #tried = 0

  constructor(form: AnswerForm) {
    this.#form = form
    this.#state = form.startsInThought ? 'thought' : 'start'
  }

  push(text: string): ReadPiece[] {
    this.#held += text
    return this.#read()
  }

  finish(): ReadPiece[] {
    this.#isLast = true
    const pieces = this.#read()
    // Only white space, as in an answer that is nothing else, is content too.
    if (this.#blank !== '' && this.#state === 'content' && this.#calls === 0) {
      pieces.push({ type: 'content', text: this.#blank, end: this.#offset })
    }
    return pieces
  }

  #read(): ReadPiece[] {
    const pieces: ReadPiece[] = []
    while (this.#held !== '' && this.#step(pieces));
    return pieces
  }

  /** Reads a part of what is held. Returns false if that can't be more yet. */
  #step(pieces: ReadPiece[]): boolean {
    switch (this.#state) {
      case 'start':
        return this.#readStart()
      case 'thought':
        return this.#readThought(pieces)
      case 'afterThought':
        this.#take(skipSpace(this.#held, 0))
        if (this.#held !== '') this.#enter('content')
        return true
      case 'content':
        return this.#readContent(pieces)
      case 'calls':
        return this.#readCalls(pieces)
    }
  }

  #enter(state: 'thought' | 'afterThought' | 'content'): void {
    this.#state = state
    this.#blank = ''
    this.#hasBegun = false
  }

  #readStart(): boolean {
    const { thoughts } = this.#form
    const end = thoughts === null ? null : skipLoosely(this.#held, 0, thoughts.start)
    if (end !== null) {
      this.#take(end)
      this.#enter('thought')
      return true
    }
    if (thoughts !== null && !this.#isLast && mayBegin(this.#held, 0, thoughts.start)) return false
    this.#enter('content')
    return true
  }

  #readThought(pieces: ReadPiece[]): boolean {
    const { end } = this.#form.thoughts!
    const at = this.#held.indexOf(end)
    const text = this.#show(this.#take(at < 0 ? this.#held.length - this.#heldBack([end]) : at))
    if (text !== '') pieces.push({ type: 'reasoning', text })
    if (at < 0) return false
    this.#take(end.length)
    this.#enter('afterThought')
    return true
  }

  #readContent(pieces: ReadPiece[]): boolean {
    const marks = this.#marks()
    const at = this.#findCall(marks)
    const text = this.#show(this.#take(at ?? this.#held.length - this.#heldBack(marks)), { keepsStart: true })
    if (text !== '') pieces.push({ type: 'content', text, end: this.#offset - this.#blank.length })
    if (at === null) return false
    this.#state = 'calls'
    this.#isFirstOfSection = true
    return true
  }

  #readCalls(pieces: ReadPiece[]): boolean {
    const { format, tools, most } = this.#form.calls!
    const isFirst = this.#isFirstOfSection
    const read =
      this.#calls < most ? readNextCall(this.#held, { format, tools, isFirst, isLast: this.#isLast }) : 'text'
    if (read === 'incomplete' && !this.#isLast) return false
    if (typeof read !== 'string') {
      this.#take(read.end)
      this.#isFirstOfSection = false
      for (const call of read.calls.slice(0, most - this.#calls)) pieces.push({ type: 'call', ...call })
      this.#calls += read.calls.length
      return true
    }
    if (isFirst) {
      // The mark begins no call, so the held text is content, with the white space before it.
      this.#state = 'content'
      this.#tried = 1
      return true
    }
    const end = format.sectionEnd.trim()
    const at = skipSpace(this.#held, 0)
    const after = end === '' ? null : skipLoosely(this.#held, at, end)
    if (after === null && end !== '' && !this.#isLast && mayBegin(this.#held, at, end)) return false
    this.#take(after ?? at)
    this.#enter('afterThought')
    return true
  }

  /** What may begin calls, without white space around it. */
  #marks(): readonly string[] {
    const { calls } = this.#form
    if (calls === null || this.#calls >= calls.most) return []
    return [calls.format.marker ?? '', sectionMark(calls.format)].filter((mark) => mark !== '')
  }

  /** Where what may be a call begins. */
  #findCall(marks: readonly string[]): number | null {
    const { calls } = this.#form
    if (calls === null || this.#calls >= calls.most) return null
    if (marks.length === 0) {
      const at = skipSpace(this.#held, 0)
      const isAnswer = !this.#hasBegun && this.#tried === 0 && this.#blank.trim() === ''
      return isAnswer && ['{', '['].includes(this.#held[at] ?? '') ? at : null
    }
    for (let at = this.#tried; at < this.#held.length; at++) {
      if (marks.some((mark) => this.#held[at] === mark[0] && skipLoosely(this.#held, at, mark) !== null))
        return at
    }
    return null
  }

  /** The length of the end of what is held that may become one of the marks. */
  #heldBack(marks: readonly string[]): number {
    if (this.#isLast) return 0
    for (let at = this.#tried; at < this.#held.length; at++) {
      if (marks.some((mark) => this.#held[at] === mark[0] && mayBegin(this.#held, at, mark))) {
        return this.#held.length - at
      }
    }
    return 0
  }

  #take(length: number): string {
    const taken = this.#held.slice(0, length)
    this.#held = this.#held.slice(length)
    this.#offset += length
    this.#tried = Math.max(0, this.#tried - length)
    return taken
  }

  /** The text to report now: white space waits for what follows it. */
  #show(text: string, { keepsStart = false } = {}): string {
    const all = this.#blank + text
    const shown = all.trimEnd()
    this.#blank = all.slice(shown.length)
    if (shown === '') return ''
    const reported = this.#hasBegun || keepsStart ? shown : shown.trimStart()
    this.#hasBegun = true
    return reported
  }
}
