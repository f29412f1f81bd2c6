import type { CachedWeights } from '../../contract.ts'
import { isSameVariant } from './variants.ts'
import type { Variant } from './variants.ts'

interface Weights extends Variant {
  model_name: string
  weight_bytes: number | null
}

/** Whether all weights of a variant are on the disk; while they are downloaded, a part of them is. */
export function areWeightsHere(cached: readonly CachedWeights[], weights: Weights): boolean {
  return cached.some(
    (one) =>
      one.model_name === weights.model_name &&
      isSameVariant(one, weights) &&
      one.bytes >= (weights.weight_bytes ?? Infinity),
  )
}

/** The ids of the models that have a variant whose weights are all on the disk. */
export function findModelsHere(
  cached: readonly CachedWeights[],
  placements: readonly (Weights & { model_id: string })[],
): ReadonlySet<string> {
  const known = new Set(cached.map(({ model_name }) => model_name))
  return new Set(
    placements
      .filter((one) => known.has(one.model_name) && areWeightsHere(cached, one))
      .map(({ model_id }) => model_id),
  )
}
