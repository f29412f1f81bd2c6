import { randomBytes } from 'node:crypto'

// Parsing JSON and writing it again changes numbers (2512292042121000001, 10.00) and the order of members. A
// source is a value that keeps its text: a string that begins with a sign that no caller can know.

const sign = randomBytes(12).toString('base64url')

/** How numbers, objects and lists begin, which may change. */
const mayChange = /[-\d{[]/

/** Two for each source; a request with more is no conversation */
const maxPieces = 20_000

/** Parses JSON, with sources for outermost members of these names that may change. Throws a SyntaxError. */
export function parseWithSources(text: string, names: readonly string[]): unknown {
  if (names.length === 0) return JSON.parse(text)
  const member = new RegExp(`"(?:${names.join('|')})"\\s*:\\s*`, 'g')
  const pieces: string[] = []
  let copied = 0
  for (let match = member.exec(text); match !== null; match = member.exec(text)) {
    const start = member.lastIndex
    if (pieces.length === maxPieces) break
    if (isEscaped(text, match.index) || !mayChange.test(text[start] ?? '')) continue
    const end = endOfValue(text, start)
    const source = text.slice(start, end)
    JSON.parse(source)
    pieces.push(text.slice(copied, start), JSON.stringify(sign + source))
    copied = end
    member.lastIndex = end
  }
  return JSON.parse(pieces.join('') + text.slice(copied))
}

/** A value that is written as this JSON. */
export function toSource(json: string): string {
  return sign + json
}

/** The JSON of a value: that of its source if it has one. */
export function sourceOf(value: unknown): string {
  return typeof value === 'string' && value.startsWith(sign) ? value.slice(sign.length) : writeJson(value)
}

/** Writes JSON, with the texts of sources. */
export function writeJson(value: unknown): string {
  const text = JSON.stringify(value)
  const opening = `"${sign}`
  const pieces: string[] = []
  let copied = 0
  for (let at = text.indexOf(opening); at >= 0; at = text.indexOf(opening, copied)) {
    const end = endOfValue(text, at)
    pieces.push(text.slice(copied, at), sourceOf(JSON.parse(text.slice(at, end))))
    copied = end
  }
  return pieces.join('') + text.slice(copied)
}

/** Returns the offset after the value that starts at `start`, or the length of a text that lacks its end. */
export function endOfValue(text: string, start: number): number {
  let depth = 0
  let at = start
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === brace || code === bracket) depth += 1
    // The closing ones
    else if (code === brace + 2 || code === bracket + 2) depth -= 1
    else if (depth === 0) return endOfPrimitive(text, at)
    if (code !== quote) at += 1
    if (depth === 0) return at
  }
  return text.length
}

const quote = 0x22
const brace = 0x7b
const bracket = 0x5b
const afterPrimitive = /[\s,}\]]|$/g

function endOfPrimitive(text: string, start: number): number {
  afterPrimitive.lastIndex = start
  return afterPrimitive.exec(text)!.index
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end < 0 ? text.length : end + 1
}

/** True if the character at an offset in a string follows an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let start = at
  while (text[start - 1] === '\\') start -= 1
  return (at - start) % 2 === 1
}
