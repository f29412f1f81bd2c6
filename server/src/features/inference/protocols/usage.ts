import type { TokenUsage } from '../../metering/token-usage.ts'
import { endOfValue } from './json-source.ts'
import type { BodyFormat, MemberPath } from './protocol.ts'

type ReadUsage = BodyFormat['readUsage']

/** Reads the usage of a response; null when it is missing or implausible. */
export function readUsage(
  response: unknown,
  { usageAt, otherUsageAt, readUsage: read }: BodyFormat,
): TokenUsage | null {
  return readUsageAt(response, usageAt, read) ?? readUsageAt(response, otherUsageAt ?? null, read)
}

/** Reads the usage object at `path` of a response or event; null when missing or implausible. */
export function readUsageAt(response: unknown, path: MemberPath | null, read: ReadUsage): TokenUsage | null {
  if (path === null) return null
  let value = response
  for (const name of path) value = (value as Record<string, unknown> | null | undefined)?.[name]
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? read(value as Record<string, unknown>) : null
}

/** Combines an engine's numbers; null if not plausible as tokens. `cached`: the input's cached part. */
export function toTokenUsage(input: unknown, output: unknown, cached: unknown = 0): TokenUsage | null {
  const inputTokens = toCount(input)
  const outputTokens = toCount(output)
  if (inputTokens === null || outputTokens === null) return null
  const cachedTokens = Math.min(toCount(cached) ?? 0, inputTokens)
  // Undefined, so that this count replaces an earlier one with all its members
  return { inputTokens, outputTokens, cachedTokens: cachedTokens === 0 ? undefined : cachedTokens }
}

const tokenLimit = 2 ** 31

function toCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < tokenLimit
    ? value
    : null
}

/** Bytes at the end of a response, and at the start of a long one, that are searched for usage */
export const edgeLength = 4096

/**
 * Reads the usage from the first or last bytes of a JSON response, one character per byte: the last member of
 * this name, at any depth, with an object. Quotes inside strings are escaped, so text can't look like it.
 */
export function readEdgeUsage(
  edge: string,
  { usageAt, readUsage }: Pick<BodyFormat, 'usageAt' | 'readUsage'>,
): TokenUsage | null {
  if (usageAt === null) return null
  const name = `"${usageAt.at(-1)}"`
  for (let at = edge.lastIndexOf(name); at !== -1; at = at === 0 ? -1 : edge.lastIndexOf(name, at - 1)) {
    const start = findObject(edge, at + name.length)
    const usage = start < 0 ? null : parseObjectAt(edge, start)
    if (usage !== null) return readUsage(usage)
  }
  return null
}

const objectValue = /[ \t\r\n]*:[ \t\r\n]*\{/y

/** Returns the offset of the brace that opens the value after a name; -1 when the value is not an object. */
function findObject(text: string, from: number): number {
  objectValue.lastIndex = from
  return objectValue.test(text) ? objectValue.lastIndex - 1 : -1
}

/** Parses the object that starts at `start` and ignores the text after it. */
function parseObjectAt(text: string, start: number): Record<string, unknown> | null {
  const end = text.indexOf('}', start) + 1
  // Flat objects end at the first brace, unless a text has one. Failed parses of nested ones cost 10 µs.
  const isFlat = text.lastIndexOf('{', end) === start
  return (isFlat ? parse(text.slice(start, end)) : null) ?? parse(text.slice(start, endOfValue(text, start)))
}

function parse(text: string): Record<string, unknown> | null {
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    return null
  }
}
