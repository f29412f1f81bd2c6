import type { Sample } from './measure.ts'
import type { Workload } from './workloads.ts'

/** Minimum share of its core that a saturated target must use. */
const saturated = 0.95

/** Maximum share of the gateway's core for other processes. */
const disturbed = 0.1

/** False after a wrong response, an unsaturated closed loop, or other processes on the gateway's core. */
export function isValid({ workload, load, cpu, target }: Sample, { load: { mode } }: Workload): boolean {
  const { status, body, broken } = load.errors
  if (status + body + broken > 0) return false
  // Memory does not depend on other processes.
  if (workload === 'idle') return true
  const share = cpu / load.seconds
  if (mode === 'closed' && target !== 'direct') return share >= saturated
  return load.coreBusy + load.coreStolen - share <= disturbed
}

/** The median, or null for no numbers. */
export function median(numbers: readonly (number | null)[]): number | null {
  const sorted = numbers.filter((number) => number !== null).toSorted((one, other) => one - other)
  const middle = sorted.length / 2
  const upper = sorted[Math.floor(middle)]
  if (upper === undefined) return null
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? upper) + upper) / 2 : upper
}
