import type { MemberValue } from './json-walk.ts'

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
/** Most bytes to inspect one by one, on either side of a name or inside a value */
const reach = 4096

/**
 * Returns a function that finds the top-level members called `names` in UTF-8 JSON without parsing it. It returns null when only
 * a parser can tell: each name may occur once, unescaped, at the top level. A second occurrence, plain or escaped, could make the
 * upstream read another value than the gateway did. The rest of the body is not checked and may be invalid JSON.
 *
 * The names must be lowercase letters and underscores and differ in their last character.
 */
export function createMemberScanner(names: readonly string[]): (body: Buffer) => MemberValue[] | null {
  const byLastCharacter = new Map(names.map((name) => [name.at(-1)!, `"${name}"`]))
  // Finds the ends of names: a search for whole names would stop at every quote. The lookahead skips strings that are followed
  // by a comma or a bracket and are therefore values. The second alternative finds escapes of the characters in names.
  const candidates = new RegExp(
    `[${[...byLastCharacter.keys()].join('')}]"(?![ \\t\\n\\r]*[,}\\]])|\\\\u00[567]`,
    'g',
  )

  return (body) => {
    const first = skipSpace(body, 0)
    if (body[first] !== openBrace || body[lastNonSpace(body)] !== closeBrace) return null
    const members: MemberValue[] = []
    // One character per byte: offsets in the text are offsets in the body.
    const text = body.toString('latin1')
    candidates.lastIndex = 0
    for (let match = candidates.exec(text); match !== null; match = candidates.exec(text)) {
      const quoted = byLastCharacter.get(match[0][0]!)
      if (quoted === undefined) return null
      const at = match.index + 2 - quoted.length
      if (at < 0 || !text.startsWith(quoted, at)) continue
      const name = quoted.slice(1, -1)
      if (members.some((member) => member.name === name)) return null
      const start = findValue(body, first, at, quoted.length)
      const end = start < 0 ? -1 : findValueEnd(body, start)
      if (end < 0) return null
      members.push({ name, start, end })
    }
    return members
  }
}

/** Returns where the value of the quoted name at `at` starts, or -1 unless the name is certainly a top-level member. */
function findValue(body: Buffer, first: number, at: number, length: number): number {
  if (body[at - 1] === backslash) return -1
  const afterName = skipSpace(body, at + length)
  if (body[afterName] !== colon) return -1
  const value = skipSpace(body, afterName + 1)
  return isTopLevelFromStart(body, first, at) || isTopLevelFromEnd(body, value) ? value : -1
}

function isTopLevelFromStart(body: Buffer, first: number, at: number): boolean {
  return at - first <= reach && depthAfter(body, first, at, 0) === 1
}

function isTopLevelFromEnd(body: Buffer, from: number): boolean {
  return body.length - from <= reach && depthAfter(body, from, body.length, 1) === 0
}

/** Returns the nesting depth at `to`, or -1 inside a string or when the object closes before the last non-space byte. */
function depthAfter(body: Buffer, from: number, to: number, initialDepth: number): number {
  let depth = initialDepth
  let position = from
  while (position < to) {
    const byte = body[position]!
    if (byte === quote) position = endOfString(body, position, to) - 1
    else if (byte === openBrace || byte === openBracket) depth += 1
    else if (byte === closeBrace || byte === closeBracket) depth -= 1
    if (position >= to || (depth === 0 && skipSpace(body, position + 1) < to)) return -1
    position += 1
  }
  return depth
}

/** Returns where the value ends, or -1 when it is longer than `reach` or incomplete. */
function findValueEnd(body: Buffer, start: number): number {
  const to = Math.min(body.length, start + reach)
  let depth = 0
  for (let position = start; position < to; position += 1) {
    const byte = body[position]!
    if (byte === quote) position = endOfString(body, position, to) - 1
    else if (byte === openBrace || byte === openBracket) depth += 1
    else if (byte === closeBrace || byte === closeBracket) depth -= 1
    else if (depth === 0 && (byte === comma || isSpace(byte))) return position
    // This bracket closes the enclosing object.
    if (depth < 0) return position
    if (depth === 0 && (byte === quote || byte === closeBrace || byte === closeBracket)) {
      return position < to ? position + 1 : -1
    }
  }
  return -1
}

/** Returns the offset after the closing quote, or `to + 1` when the string does not end before `to`. */
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

function lastNonSpace(body: Buffer): number {
  let position = body.length - 1
  while (isSpace(body[position])) position -= 1
  return position
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
