import type { TokenUsage } from '../metering/record-tokens.ts'

/** Reads the `usage` of an OpenAI-style response or chunk; null when it is missing or implausible. */
export function readUsage(response: unknown): TokenUsage | null {
  const usage = (response as { usage?: unknown } | null | undefined)?.usage
  if (typeof usage !== 'object' || usage === null) return null
  const { prompt_tokens, completion_tokens } = usage as Record<string, unknown>
  const inputTokens = toCount(prompt_tokens ?? 0)
  const outputTokens = toCount(completion_tokens ?? 0)
  return inputTokens === null || outputTokens === null ? null : { inputTokens, outputTokens }
}

const tokenLimit = 2 ** 31

function toCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < tokenLimit
    ? value
    : null
}

/** Bytes at the end of a response, and at the start of a long one, that are searched for usage */
export const edgeLength = 4096
const usageName = '"usage"'

/**
 * Reads the usage from the first or last bytes of a JSON response, one character per byte: the last member called `usage` whose
 * value is an object. Quotes inside strings are escaped, so text that a model generates can't be mistaken for the member.
 */
export function readEdgeUsage(edge: string): TokenUsage | null {
  for (
    let at = edge.lastIndexOf(usageName);
    at !== -1;
    at = at === 0 ? -1 : edge.lastIndexOf(usageName, at - 1)
  ) {
    const start = findObject(edge, at + usageName.length)
    const usage = start < 0 ? null : parseObjectAt(edge, start)
    if (usage !== null) return readUsage({ usage })
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
function parseObjectAt(text: string, start: number): unknown {
  // Most usage objects are flat and end at the first brace.
  return parse(text.slice(start, text.indexOf('}', start) + 1)) ?? parse(sliceObject(text, start))
}

function parse(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    return null
  }
}

/** Returns the text of the object that starts at `start`; empty when the object is incomplete. */
function sliceObject(text: string, start: number): string {
  const stringOrBrace = /"(?:[^"\\]|\\.)*"|[{}]/g
  stringOrBrace.lastIndex = start
  let depth = 0
  for (let match = stringOrBrace.exec(text); match !== null; match = stringOrBrace.exec(text)) {
    if (match[0] === '{') depth += 1
    if (match[0] === '}') depth -= 1
    if (depth === 0) return text.slice(start, stringOrBrace.lastIndex)
  }
  return ''
}
