import type { RuntimeOffer } from '../../ports/model-runtime.ts'
import type { ModelVariant } from '../../ports/model-variant.ts'
import { findEngine } from '../catalog/engine-choice.ts'
import type { ServedModel } from './memory-estimate.ts'
import { isSharedOffer } from './offers.ts'
import type { SelectionRules } from './offers.ts'
import { findLeastCapacity, reduceShared, sizeEngine } from './serving-capacity.ts'
import type { SharedCapacity, Sizing } from './serving-capacity.ts'

/** The capacity of an engine that shares a host with others, unless the runtime has its own. */
const defaultSharedCapacity: SharedCapacity = { contextTokens: 8192, parallelSequences: 4 }

/** An engine's capacity on an offer; null if it doesn't fit. RangeError if a minimum exceeds a ceiling. */
export function sizeOffer(variant: ModelVariant, offer: RuntimeOffer, rules: SelectionRules): Sizing | null {
  const model = toServedModel(variant, offer, rules)
  const { ceilings, least } = findBounds(model, offer, rules)
  return sizeEngine(model, offer, ceilings, least)
}

/** The variant with the engine of an offer. A format that no engine loads is estimated like vLLM's. */
export function toServedModel(
  variant: ModelVariant,
  { runtime }: RuntimeOffer,
  { loras }: SelectionRules,
): ServedModel {
  const engine = findEngine(variant, runtime.engines)
  return { variant, engine: engine ?? { sizing: 'shared-cache', images: 'none', profile: '' }, loras }
}

/** The capacity of engines that share the memory of a host with others. */
export function sharedCapacityOf({ runtime }: RuntimeOffer, { ceilings }: SelectionRules): SharedCapacity {
  const { sharedCapacity } = runtime
  return sharedCapacity === null ? defaultSharedCapacity : { ...sharedCapacity, settings: ceilings.settings }
}

/** The most and the least that an engine may be sized to. RangeError if a minimum exceeds a ceiling. */
export function findBounds(model: ServedModel, offer: RuntimeOffer, rules: SelectionRules) {
  const { ceilings, minimums } = rules
  if (!isSharedOffer(offer)) return { ceilings, least: findLeastCapacity(model, ceilings, minimums) }
  const shared = sharedCapacityOf(offer, rules)
  const capacity = reduceShared(model, offer, shared)
  // An owner may ask for more than the default.
  const allowed = { ...shared, contextTokens: ceilings.contextTokens }
  const least = findLeastCapacity(model, allowed, minimums, capacity)
  return {
    // The engine takes no more of the shared memory than it needs.
    ceilings: {
      contextTokens: least.contextTokens,
      parallelSequences: shared.parallelSequences,
      leavesMemory: least.contextTokens !== shared.contextTokens,
    },
    least,
  }
}
