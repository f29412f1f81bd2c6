/** The end of a value in a text and the value as JSON, or why the text has none. */
export type LooseRead = { json: string; end: number } | 'incomplete' | 'invalid'

const gemmaQuote = '<|"|>'
const names: Readonly<Record<string, string>> = {
  true: 'true',
  True: 'true',
  false: 'false',
  False: 'false',
  null: 'null',
  None: 'null',
}

/**
 * Reads a value in JSON's, Python's or Gemma's notation: any of their quotes, member names with or without
 * quotes. Numbers and escapes keep their source text where JSON has the same.
 */
export function readLooseValue(text: string, at: number): LooseRead {
  const reader = new LooseReader(text, at)
  try {
    const json = reader.readValue()
    return { json, end: reader.at }
  } catch (error) {
    if (error === incomplete) return 'incomplete'
    if (error === invalid) return 'invalid'
    throw error
  }
}

/** Reads pairs up to `close` as a JSON object: `name: value` as in Gemma's calls, or Python's `name=value` */
export function readLooseMembers(text: string, at: number, close: string): LooseRead {
  const reader = new LooseReader(text, at)
  try {
    const json = reader.readMembers(close)
    return { json, end: reader.at }
  } catch (error) {
    if (error === incomplete) return 'incomplete'
    if (error === invalid) return 'invalid'
    throw error
  }
}

const incomplete = new Error('The text ends within a value.')
const invalid = new Error('The text is no value.')

/** Values nested deeper are no arguments. */
const maxDepth = 64

class LooseReader {
  readonly #text: string
  #at: number
  #depth = 0

  constructor(text: string, at: number) {
    this.#text = text
    this.#at = at
  }

  get at(): number {
    return this.#at
  }

  readValue(): string {
    this.#skipSpace()
    const next = this.#peek()
    if (next === '{') return this.#nest(() => this.#readAfter('{', () => this.readMembers('}')))
    if (next === '[') return this.#nest(() => this.#readAfter('[', () => this.#readItems(']')))
    if (next === '(') return this.#nest(() => this.#readAfter('(', () => this.#readItems(')')))
    if (next === '"' || next === "'" || next === '<') return this.#readText()
    return this.#readWord()
  }

  /** Reads pairs up to `close`, which it takes. */
  readMembers(close: string): string {
    const members: string[] = []
    for (;;) {
      this.#skipSpace(',')
      if (this.#peek() === close) {
        this.#at++
        return `{${members.join(', ')}}`
      }
      const name = this.#readName()
      this.#skipSpace()
      if (!':='.includes(this.#peek())) throw invalid
      this.#at++
      members.push(`${name}: ${this.readValue()}`)
    }
  }

  #readItems(close: string): string {
    const items: string[] = []
    for (;;) {
      this.#skipSpace(',')
      if (this.#peek() === close) {
        this.#at++
        return `[${items.join(', ')}]`
      }
      items.push(this.readValue())
    }
  }

  #readName(): string {
    const next = this.#peek()
    if (next === '"' || next === "'" || next === '<') return this.#readText()
    const name = /[\w.$-]+/y
    name.lastIndex = this.#at
    const found = name.exec(this.#text)
    if (found === null) throw invalid
    this.#at = name.lastIndex
    this.#peek()
    return JSON.stringify(found[0])
  }

  #readText(): string {
    const quote = this.#text.startsWith(gemmaQuote, this.#at) ? gemmaQuote : this.#text[this.#at]!
    if (quote === '<') {
      if (gemmaQuote.startsWith(this.#text.slice(this.#at))) throw incomplete
      throw invalid
    }
    const start = this.#at + quote.length
    if (quote === gemmaQuote) {
      const end = this.#text.indexOf(quote, start)
      if (end < 0) throw incomplete
      this.#at = end + quote.length
      return JSON.stringify(this.#text.slice(start, end))
    }
    let end = start
    while (this.#text[end] !== quote) {
      if (end >= this.#text.length) throw incomplete
      end += this.#text[end] === '\\' ? 2 : 1
    }
    this.#at = end + 1
    const source = this.#text.slice(start, end)
    if (quote === '"') {
      const json = `"${source.replace(/[\n\r\t]/g, (character) => JSON.stringify(character).slice(1, -1))}"`
      if (isJson(json)) return json
    }
    return JSON.stringify(source.replace(/\\(x[\da-fA-F]{2}|u[\da-fA-F]{4}|[^])/g, unescape))
  }

  #readWord(): string {
    const word = /[^\s,:=[\](){}"'<>]+/y
    word.lastIndex = this.#at
    const found = word.exec(this.#text)?.[0]
    if (found === undefined) throw invalid
    if (this.#at + found.length >= this.#text.length) throw incomplete
    this.#at += found.length
    if (Object.hasOwn(names, found)) return names[found]!
    if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(found)) return found
    throw invalid
  }

  #readAfter(open: string, read: () => string): string {
    this.#at += open.length
    return read()
  }

  #nest(read: () => string): string {
    if (++this.#depth > maxDepth) throw invalid
    const json = read()
    this.#depth--
    return json
  }

  #skipSpace(also = ''): void {
    while (
      this.#at < this.#text.length &&
      (/\s/.test(this.#text[this.#at]!) || also === this.#text[this.#at])
    ) {
      this.#at++
    }
  }

  #peek(): string {
    const next = this.#text[this.#at]
    if (next === undefined) throw incomplete
    return next
  }
}

const simpleEscapes: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  '0': '\0',
}

function unescape(_found: string, code: string): string {
  if (code.length > 1) return String.fromCharCode(Number.parseInt(code.slice(1), 16))
  return simpleEscapes[code] ?? code
}

/** True for a text that is JSON as it stands. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** True for a text that is an object of JSON. */
export function isObject(text: string): boolean {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
