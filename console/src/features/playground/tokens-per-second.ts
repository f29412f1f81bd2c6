import type { Answer } from './answer.ts'

/** In seconds. Below it, chunks that arrive together would give thousands of tokens per second. */
const shortestStream = 0.5

/**
 * Tokens per second after the first token, which belongs to the time to first token. Null before the usage
 * arrives, and for a stream too short to tell a rate from the batches of the network.
 */
export function tokensPerSecond({ usage, firstTokenMs, lastTokenMs }: Answer): number | null {
  if (!usage || firstTokenMs === null || lastTokenMs === null) return null
  const seconds = (lastTokenMs - firstTokenMs) / 1_000
  return usage.completionTokens < 2 || seconds < shortestStream
    ? null
    : (usage.completionTokens - 1) / seconds
}
