import type { CapacityMinimums } from '../placement/serving-capacity.ts'
import type { Deployment } from './store.ts'

/** What the owner of a deployment asks for. */
export function toMinimums({
  min_context_tokens: contextTokens,
  min_parallel_sequences: parallelSequences,
}: Pick<Deployment, 'min_context_tokens' | 'min_parallel_sequences'>): CapacityMinimums {
  return { contextTokens, parallelSequences }
}

/** True if the engine of a deployment has less capacity than its owner asks for. */
export function needsResize(
  deployment: Pick<
    Deployment,
    'context_tokens' | 'parallel_sequences' | 'min_context_tokens' | 'min_parallel_sequences'
  >,
): boolean {
  const { contextTokens, parallelSequences } = toMinimums(deployment)
  return (
    (contextTokens ?? 0) > (deployment.context_tokens ?? Infinity) ||
    (parallelSequences ?? 0) > (deployment.parallel_sequences ?? Infinity)
  )
}
