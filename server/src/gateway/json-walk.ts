/** Where the value of a top-level member is, as byte offsets. */
export interface MemberValue {
  name: string
  start: number
  end: number
}

// Repeated in json-scan.ts: as imports, these constants make the walk a fifth slower.
const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
/** Bytes of a string to inspect one by one before the next native search */
const burst = 256
const maxNumberBytes = 1_024
const maxMembers = 100
const longestRun = 127

// What the walk expects next. Numbers, because a document may have millions of tokens.
const value = 0
const valueOrEnd = 1
const name = 2
const nameOrEnd = 3
const colonNext = 4
const commaOrEnd = 5
const nothing = 6
type Expected = 0 | 1 | 2 | 3 | 4 | 5 | 6

/** The body is not JSON that `MemberWalk` accepts. */
export class JsonError extends Error {}

/**
 * Validates the structure of UTF-8 JSON in one pass and finds the top-level members called `names`, escaped names and duplicates
 * included. It builds no objects, so its time and memory are proportional to the bytes, whatever they are. It can stop after any
 * number of bytes and continue later. The contents of strings are not validated, because they can't hide a member.
 *
 * The names must be lowercase letters and underscores.
 */
export class MemberWalk {
  readonly body: Buffer
  readonly names: readonly { text: string; bytes: Buffer }[]
  readonly shortestName: number
  readonly members: MemberValue[] = []
  /** The document is an object */
  isObject = false
  position = 0
  expected: Expected = value
  depth = 0
  /** The innermost level is an object */
  inObject = false
  /** Consecutive levels of the innermost kind, arrays or objects. Level 0 is the document, which counts as an array. */
  run = 1
  /** The runs around it, one byte each: the number of levels, plus 128 for objects */
  runs: Uint8Array = new Uint8Array(64)
  runCount = 0
  inString = false
  stringStart = 0
  nextQuote = -1
  nextBackslash = -1
  /** The top-level name whose value comes next; null if it is not one of `names` */
  name: string | null = null
  valueStart = 0

  constructor(body: Buffer, names: readonly string[]) {
    this.body = body
    this.names = names.map((text) => ({ text, bytes: Buffer.from(text) }))
    this.shortestName = Math.min(...names.map(({ length }) => length))
  }

  /** Walks at least to the offset `to`, or to the end. Returns true at the end. Throws a `JsonError`. */
  advance(to: number): boolean {
    const { body } = this
    const end = Math.min(to, body.length)
    // Local variables and few calls: fields and methods would double the time.
    let { position, expected, depth, inObject, inString, run, runs, runCount } = this
    while (position < end) {
      if (inString) {
        position = this.continueString(position)
        inString = this.inString
        if (inString) continue
        if (expected === name || expected === nameOrEnd) {
          expected = colonNext
          if (depth === 1) this.name = this.findName(this.stringStart + 1, position - 1)
          continue
        }
      } else {
        const byte = body[position]!
        if (byte <= 0x20) {
          if (!isSpace(byte)) fail(position)
          position += 1
          continue
        }
        if (byte === comma && expected === commaOrEnd) {
          expected = inObject ? name : value
          position += 1
          continue
        }
        if (byte === colon && expected === colonNext) {
          expected = value
          position += 1
          continue
        }
        if (byte === quote && expected <= nameOrEnd) {
          if (depth === 1 && expected <= valueOrEnd) this.valueStart = position
          this.stringStart = position
          this.inString = inString = true
          position += 1
          continue
        }
        if (byte === (inObject ? closeBrace : closeBracket)) {
          const endsEmpty = expected === (inObject ? nameOrEnd : valueOrEnd)
          if (depth === 0 || !(endsEmpty || expected === commaOrEnd)) fail(position)
          depth -= 1
          run -= 1
          if (run === 0) {
            runCount -= 1
            run = runs[runCount]! & longestRun
            inObject = runs[runCount]! > longestRun
          }
          position += 1
        } else {
          if (expected > valueOrEnd) fail(position)
          if (depth === 1) this.valueStart = position
          if (byte === openBrace || byte === openBracket) {
            if ((byte === openBrace) === inObject && run < longestRun) run += 1
            else {
              if (runCount === runs.length) runs = this.growRuns()
              runs[runCount] = inObject ? run + longestRun + 1 : run
              runCount += 1
              run = 1
              inObject = byte === openBrace
            }
            if (depth === 0) this.isObject = inObject
            depth += 1
            expected = inObject ? nameOrEnd : valueOrEnd
            position += 1
            continue
          }
          const scalarEnd = endOfScalar(body, position)
          if (scalarEnd < 0) fail(position)
          position = scalarEnd
        }
      }
      // A value has ended.
      expected = depth === 0 ? nothing : commaOrEnd
      if (depth === 1 && this.name !== null) this.addMember(this.name, position)
    }
    Object.assign(this, { position, expected, depth, inObject, run, runCount })
    if (position < body.length) return false
    if (expected !== nothing) throw new JsonError('the JSON is incomplete')
    return true
  }

  /** Continues a string at `from`, at most up to its closing quote, and returns the next position. */
  continueString(from: number): number {
    const { body } = this
    const stop = Math.min(from + burst, body.length)
    let at = from
    while (at < stop) {
      const byte = body[at]!
      if (byte === quote) return this.closeString(at)
      at += byte === backslash ? 2 : 1
    }
    if (this.nextQuote < at) this.nextQuote = findByte(body, quote, at)
    if (this.nextBackslash < at) this.nextBackslash = findByte(body, backslash, at)
    if (this.nextQuote < this.nextBackslash) return this.closeString(this.nextQuote)
    return Math.max(at, Math.min(this.nextBackslash, body.length))
  }

  closeString(at: number): number {
    this.inString = false
    return at + 1
  }

  findName(from: number, to: number): string | null {
    if (to - from < this.shortestName) return null
    const { body, names } = this
    for (let index = 0; index < names.length; index += 1) {
      const { text, bytes } = names[index]!
      if (body[from] !== bytes[0] && body[from] !== backslash) continue
      if (to - from <= 6 * bytes.length && equalsName(body, from, to, bytes)) return text
    }
    return null
  }

  addMember(name: string, end: number): void {
    this.members.push({ name, start: this.valueStart, end })
    this.name = null
    if (this.members.length > maxMembers) throw new JsonError('a member occurs too often')
  }

  growRuns(): Uint8Array {
    const larger = new Uint8Array(2 * this.runs.length)
    larger.set(this.runs)
    return (this.runs = larger)
  }
}

/** Finds the top-level members called `names`, in order. Throws a `JsonError`. */
export function findMembers(body: Buffer, names: readonly string[]): MemberValue[] {
  const walk = new MemberWalk(body, names)
  walk.advance(body.length)
  return walk.members
}

function fail(position: number): never {
  throw new JsonError(`the JSON is invalid at byte ${position}`)
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function findByte(body: Buffer, byte: number, from: number): number {
  const at = body.indexOf(byte, from)
  return at < 0 ? Infinity : at
}

/** True if the string from `from` to `to` is `name` after its escapes are decoded. */
function equalsName(body: Buffer, from: number, to: number, name: Buffer): boolean {
  let position = from
  for (let index = 0; index < name.length; index += 1) {
    const expected = name[index]
    if (position >= to) return false
    if (body[position] === expected) position += 1
    else if (body[position] === backslash && unicodeEscape(body, position) === expected) position += 6
    else return false
  }
  return position === to
}

/** The code of a `\uXXXX` escape, or -1. Shorter escapes stand for no letter and no underscore. */
function unicodeEscape(body: Buffer, at: number): number {
  if (body[at + 1] !== 0x75) return -1
  let code = 0
  for (let digit = at + 2; digit < at + 6; digit += 1) {
    const value = hexValue(body[digit] ?? 0)
    if (value < 0) return -1
    code = code * 16 + value
  }
  return code
}

function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

const literals = ['true', 'false', 'null'].map((text) => Buffer.from(text))

/** Returns where the number or literal at `from` ends, or -1. */
function endOfScalar(body: Buffer, from: number): number {
  const byte = body[from]!
  // A single digit, the most tokens that fit into a body
  if (byte >= 0x30 && byte < 0x3a && body[from + 1] === comma) return from + 1
  // Digits and a minus sign
  if (byte < 0x3a) return endOfNumber(body, from)
  for (const literal of literals) {
    if (body[from] !== literal[0]) continue
    for (let index = 1; index < literal.length; index += 1) {
      if (body[from + index] !== literal[index]) return -1
    }
    return from + literal.length
  }
  return -1
}

function endOfNumber(body: Buffer, from: number): number {
  let at = body[from] === 0x2d ? from + 1 : from
  if (body[at] === 0x30) at += 1
  else if ((at = endOfDigits(body, at)) < 0) return -1
  if (body[at] === 0x2e && (at = endOfDigits(body, at + 1)) < 0) return -1
  if (body[at] === 0x65 || body[at] === 0x45) {
    const signed = body[at + 1] === 0x2b || body[at + 1] === 0x2d
    at = endOfDigits(body, at + (signed ? 2 : 1))
  }
  return at
}

/** Returns where at least one digit ends, or -1. */
function endOfDigits(body: Buffer, from: number): number {
  let at = from
  while (body[at]! >= 0x30 && body[at]! <= 0x39) at += 1
  return at === from || at - from > maxNumberBytes ? -1 : at
}
