import type { CapacityMinimums } from '../placement/serving-capacity.ts'
import type { Instance } from './instances/store.ts'
import type { Deployment } from './store.ts'

/** What the owner of a deployment asks for. */
export function toMinimums({
  min_context_tokens: contextTokens,
  min_parallel_sequences: parallelSequences,
}: Pick<Deployment, 'min_context_tokens' | 'min_parallel_sequences'>): CapacityMinimums {
  return { contextTokens, parallelSequences }
}

/** True if an instance has less capacity than the owner asks for. */
export function needsResize(
  deployment: Pick<Deployment, 'min_context_tokens' | 'min_parallel_sequences'>,
  instance: Pick<Instance, 'context_tokens' | 'parallel_sequences'>,
): boolean {
  const { contextTokens, parallelSequences } = toMinimums(deployment)
  return (
    (contextTokens ?? 0) > (instance.context_tokens ?? Infinity) ||
    (parallelSequences ?? 0) > (instance.parallel_sequences ?? Infinity)
  )
}
