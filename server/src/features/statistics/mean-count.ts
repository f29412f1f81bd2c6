import type { HeldSpan } from '../metering/held-spans.ts'

/** How many instances were held on average between two times, in milliseconds since 1970. */
export function meanCount(spans: readonly HeldSpan[], from: number, to: number): number {
  const milliseconds = spans.map(({ startedAt, endedAt }) =>
    Math.max(0, Math.min(endedAt?.getTime() ?? to, to) - Math.max(startedAt.getTime(), from)),
  )
  return milliseconds.reduce((sum, each) => sum + each, 0) / (to - from)
}
