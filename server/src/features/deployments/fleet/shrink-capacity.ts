import type { CapacityMinimums } from '../../placement/serving-capacity.ts'
import type { ServingCapacity } from '../../../ports/runtime-engine.ts'

/** A shorter context is useless, unless the owner asks for it. */
const leastContext = 2048
const contextStep = 1024

/**
 * A smaller capacity, within the owner's minimums, for an engine that ran out of memory: half of the
 * sequences, and with the fewest, half of the context. Null if nothing can be given up.
 */
export function shrinkCapacity(
  { contextTokens, parallelSequences }: ServingCapacity,
  minimums: CapacityMinimums,
): ServingCapacity | null {
  const fewest = minimums.parallelSequences ?? 1
  if (parallelSequences > fewest) {
    return { contextTokens, parallelSequences: Math.max(fewest, Math.floor(parallelSequences / 2)) }
  }
  const shortest = minimums.contextTokens ?? leastContext
  if (contextTokens <= shortest) return null
  const half = Math.floor(contextTokens / 2 / contextStep) * contextStep
  return { contextTokens: Math.max(shortest, half), parallelSequences }
}

/** The lesser of two capacities in each number, but not less than the owner asks for. */
export function limitCapacity(
  capacity: ServingCapacity,
  most: ServingCapacity | null,
  minimums: CapacityMinimums,
): ServingCapacity {
  if (most === null) return capacity
  return {
    contextTokens: Math.min(
      capacity.contextTokens,
      Math.max(most.contextTokens, minimums.contextTokens ?? 0),
    ),
    parallelSequences: Math.min(
      capacity.parallelSequences,
      Math.max(most.parallelSequences, minimums.parallelSequences ?? 0),
    ),
  }
}

/** A sentence about the next start. */
export function describeCapacity({ contextTokens, parallelSequences }: ServingCapacity): string {
  const requests =
    parallelSequences === 1 ? 'one request at a time,' : `${parallelSequences} requests at a time,`
  return `To need less memory, the next start takes ${requests} of up to ${contextTokens} tokens.`
}
