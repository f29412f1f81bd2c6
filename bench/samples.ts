import type { Sample } from './measure.ts'
import type { Work } from './works.ts'

/** The share of the gateway's core that a saturated target must have used for a round to count. */
const saturated = 0.95

/** False for a round with a wrong answer, and for one that was to saturate the gateway and didn't. */
export function isValid({ load, cpu, target }: Sample, { load: { mode } }: Work): boolean {
  const { status, body, broken } = load.errors
  if (status + body + broken > 0) return false
  return mode !== 'closed' || target === 'direct' || cpu / load.seconds >= saturated
}

/** The middle of the numbers, null of none. */
export function median(numbers: readonly (number | null)[]): number | null {
  const sorted = numbers.filter((number) => number !== null).toSorted((one, other) => one - other)
  const middle = sorted.length / 2
  const upper = sorted[Math.floor(middle)]
  if (upper === undefined) return null
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? upper) + upper) / 2 : upper
}
