import type { MemberValue } from './json-edit.ts'

const quote = 0x22
const backslash = 0x5c
/**
 * Ends of strings that may be names, because what follows is not what follows a value, and escapes of the characters that names are
 * written with: one that hides in these is for a parser to find. A search for whole names would stop at each quote of a body.
 */
const signs = /[lmst]"(?![ \t\n\r]*[,}\]])|\\u00[567]/g
/** The names by their last characters */
const names: Record<string, string> = {
  l: '"model"',
  m: '"stream"',
  s: '"stream_options"',
  t: '"encoding_format"',
}
/** Bytes that are looked at one by one on one side of a name, or in a value, at most. */
const reach = 4096

/**
 * Finds the values of the outermost members that the gateway reads in a body of UTF-8 that was not parsed, or answers null where
 * only a parser can tell: each name must stand there once, unescaped, in the outermost object. A second one, hidden or open,
 * could make the engine take another value than the gateway. What else the body holds is not looked at, so it may turn out to
 * be no JSON.
 */
export function scanMembers(body: Buffer): MemberValue[] | null {
  const first = skipSpace(body, 0)
  if (body[first] !== 0x7b || body[lastVisible(body)] !== 0x7d) return null
  const members: MemberValue[] = []
  // One character per byte: a position in the text is one in the body.
  const text = body.toString('latin1')
  signs.lastIndex = 0
  for (let match = signs.exec(text); match !== null; match = signs.exec(text)) {
    const sign = names[match[0][0]!]
    if (sign === undefined) return null
    const at = match.index + 2 - sign.length
    if (at < 0 || !text.startsWith(sign, at)) continue
    const name = sign.slice(1, -1)
    if (members.some((member) => member.name === name)) return null
    const start = findValue(body, first, at, sign.length)
    const end = start < 0 ? -1 : findEnd(body, start)
    if (end < 0) return null
    members.push({ name, start, end })
  }
  return members
}

/** Where the value of the name at `at` begins; -1 unless it is certainly a name of the outermost object. */
function findValue(body: Buffer, first: number, at: number, length: number): number {
  if (body[at - 1] === backslash) return -1
  const colon = skipSpace(body, at + length)
  if (body[colon] !== 0x3a) return -1
  const value = skipSpace(body, colon + 1)
  return beginsOuter(body, first, at) || endsOuter(body, value) ? value : -1
}

/** True when exactly the outermost object is open at `at`, seen from the body's beginning. */
function beginsOuter(body: Buffer, first: number, at: number): boolean {
  return at - first <= reach && depthAfter(body, first, at, 0) === 1
}

/** True when exactly one object is open at `from`, seen from the body's end. */
function endsOuter(body: Buffer, from: number): boolean {
  return body.length - from <= reach && depthAfter(body, from, body.length, 1) === 0
}

/** The depth at `to`; -1 within a string, or when all is closed before the last byte that is no space. */
function depthAfter(body: Buffer, from: number, to: number, begun: number): number {
  let depth = begun
  let position = from
  while (position < to) {
    const byte = body[position]!
    if (byte === quote) position = endOfString(body, position, to) - 1
    else if (byte === 0x7b || byte === 0x5b) depth += 1
    else if (byte === 0x7d || byte === 0x5d) depth -= 1
    if (position >= to || (depth === 0 && skipSpace(body, position + 1) < to)) return -1
    position += 1
  }
  return depth
}

/** Where a value ends, or -1 where it is long or does not end. */
function findEnd(body: Buffer, start: number): number {
  const to = Math.min(body.length, start + reach)
  let depth = 0
  for (let position = start; position < to; position += 1) {
    const byte = body[position]!
    if (byte === quote) position = endOfString(body, position, to) - 1
    else if (byte === 0x7b || byte === 0x5b) depth += 1
    else if (byte === 0x7d || byte === 0x5d) depth -= 1
    else if (depth === 0 && (byte === 0x2c || isSpace(byte))) return position
    // The bracket that closes what is around the value.
    if (depth < 0) return position
    if (depth === 0 && (byte === quote || byte === 0x7d || byte === 0x5d)) {
      return position < to ? position + 1 : -1
    }
  }
  return -1
}

/** The position behind a string's end; behind `to` where it does not end before. */
function endOfString(body: Buffer, start: number, to: number): number {
  let position = start + 1
  while (position < to && body[position] !== quote) position += body[position] === backslash ? 2 : 1
  return position < to ? position + 1 : to + 1
}

function skipSpace(body: Buffer, from: number): number {
  let position = from
  while (isSpace(body[position])) position += 1
  return position
}

function lastVisible(body: Buffer): number {
  let position = body.length - 1
  while (isSpace(body[position])) position -= 1
  return position
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
