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
