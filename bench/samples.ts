import type { Sample } from './measure.ts'
import type { Work } from './works.ts'

/** The share of the gateway's core that a saturated target must have used for a round to count. */
const saturated = 0.95

/** The share of the gateway's core that others may have had. */
const disturbed = 0.1

/** False for a round with a wrong answer, one that was to saturate the gateway and didn't, and one with others on its core. */
export function isValid({ work, load, cpu, target }: Sample, { load: { mode } }: Work): boolean {
  const { status, body, broken } = load.errors
  if (status + body + broken > 0) return false
  // Memory is the same on a busy machine.
  if (work === 'idle') return true
  const share = cpu / load.seconds
  if (mode === 'closed' && target !== 'direct') return share >= saturated
  return load.coreBusy + load.coreStolen - share <= disturbed
}

/** The middle of the numbers, null of none. */
export function median(numbers: readonly (number | null)[]): number | null {
  const sorted = numbers.filter((number) => number !== null).toSorted((one, other) => one - other)
  const middle = sorted.length / 2
  const upper = sorted[Math.floor(middle)]
  if (upper === undefined) return null
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? upper) + upper) / 2 : upper
}
