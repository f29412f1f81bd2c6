/** Where the value of a top-level member is, as character offsets. */
export interface MemberValue {
  name: string
  start: number
  end: number
}

/**
 * Finds the values of the top-level members called `names`, duplicates included. `text` must be a JSON object that a parser has
 * accepted; nothing is validated here.
 */
export function locateMembers(text: string, names: ReadonlySet<string>): MemberValue[] {
  const found: MemberValue[] = []
  let position = skipSpace(text, text.indexOf('{') + 1)
  while (text[position] === '"') {
    const nameEnd = endOfString(text, position)
    const name = JSON.parse(text.slice(position, nameEnd)) as string
    const start = skipSpace(text, text.indexOf(':', nameEnd) + 1)
    const end = endOfValue(text, start)
    if (names.has(name)) found.push({ name, start, end })
    position = skipSpace(text, end)
    if (text[position] === ',') position = skipSpace(text, position + 1)
  }
  return found
}

/** Replaces the values at `members`, which must be in order, and leaves every other character unchanged. */
export function replaceValues(
  text: string,
  members: readonly MemberValue[],
  toValue: (member: MemberValue) => string,
): string {
  let edited = ''
  let end = 0
  for (const member of members) {
    edited += text.slice(end, member.start) + toValue(member)
    end = member.end
  }
  return edited + text.slice(end)
}

const quote = 0x22
const backslash = 0x5c

/** Returns the nesting depth at `to` of JSON that has `depth` at `from`, outside a string; or -1 if `to` is inside a string. */
export function depthAt(text: string, from: number, to: number, depth = 0): number {
  let reached = depth
  let inString = false
  for (let position = from; position < to; position += 1) {
    const code = text.charCodeAt(position)
    if (inString) {
      if (code === backslash) position += 1
      else if (code === quote) inString = false
    } else if (code === quote) inString = true
    // Brackets and braces differ in one bit.
    else if ((code | 0x20) === 0x7b) reached += 1
    else if ((code | 0x20) === 0x7d) reached -= 1
  }
  return inString ? -1 : reached
}

const notSpace = /[^ \t\n\r]/g
const endOfScalar = /[,}\] \t\n\r]/g
const structural = /["{}[\]]/g
const quoteOrEscape = /["\\]/g

function search(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from
  const match = pattern.exec(text)
  return match === null ? text.length : match.index
}

function skipSpace(text: string, from: number): number {
  return search(notSpace, text, from)
}

function endOfString(text: string, start: number): number {
  let position = search(quoteOrEscape, text, start + 1)
  while (text[position] === '\\') position = search(quoteOrEscape, text, position + 2)
  return position + 1
}

function endOfValue(text: string, start: number): number {
  if (text[start] === '"') return endOfString(text, start)
  if (text[start] !== '{' && text[start] !== '[') return search(endOfScalar, text, start)
  let depth = 0
  let position = start
  do {
    const sign = text[position]
    if (sign === '"') {
      position = endOfString(text, position)
    } else {
      depth += sign === '{' || sign === '[' ? 1 : -1
      position += 1
    }
    if (depth > 0) position = search(structural, text, position)
  } while (depth > 0)
  return position
}
