import type { TokenUsage } from '../metering/record-tokens.ts'

/** The `usage` of an OpenAI-style answer or chunk, or null where it has none that makes sense. */
export function readUsage(answer: unknown): TokenUsage | null {
  const usage = (answer as { usage?: unknown } | null | undefined)?.usage
  if (typeof usage !== 'object' || usage === null) return null
  const { prompt_tokens, completion_tokens } = usage as Record<string, unknown>
  const inputTokens = toCount(prompt_tokens ?? 0)
  const outputTokens = toCount(completion_tokens ?? 0)
  return inputTokens === null || outputTokens === null ? null : { inputTokens, outputTokens }
}

const mostTokens = 2 ** 31

function toCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < mostTokens
    ? value
    : null
}

/** Bytes of an answer's end, and of the beginning of a long one, within which its usage is looked for. */
export const edgeLength = 4096
const usageName = '"usage"'

/**
 * The usage in the last or the first bytes of a JSON answer (a character for each), without reading the rest: the last member of
 * that name whose value is an object. Within strings no quote stands unescaped, so no text that a model writes can pass for it.
 */
export function readEdgeUsage(edge: string): TokenUsage | null {
  for (
    let at = edge.lastIndexOf(usageName);
    at !== -1;
    at = at === 0 ? -1 : edge.lastIndexOf(usageName, at - 1)
  ) {
    const start = skipTo(edge, at + usageName.length)
    const usage = start < 0 ? null : parseObjectAt(edge, start)
    if (usage !== null) return readUsage({ usage })
  }
  return null
}

const opening = /[ \t\r\n]*:[ \t\r\n]*\{/y

/** The position of the bracket that opens the value behind a name; -1 where that is no object. */
function skipTo(text: string, from: number): number {
  opening.lastIndex = from
  return opening.test(text) ? opening.lastIndex - 1 : -1
}

/** The object whose bracket opens at `start`, whatever follows it. */
function parseObjectAt(text: string, start: number): unknown {
  // Mostly it has none within itself, and ends where the first one does.
  return parse(text.slice(start, text.indexOf('}', start) + 1)) ?? parse(sliceObject(text, start))
}

function parse(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    return null
  }
}

/** The object whose bracket opens at `start`; nothing where it does not end. */
function sliceObject(text: string, start: number): string {
  const brackets = /"(?:[^"\\]|\\.)*"|[{}]/g
  brackets.lastIndex = start
  let depth = 0
  for (let match = brackets.exec(text); match !== null; match = brackets.exec(text)) {
    if (match[0] === '{') depth += 1
    if (match[0] === '}') depth -= 1
    if (depth === 0) return text.slice(start, brackets.lastIndex)
  }
  return ''
}
