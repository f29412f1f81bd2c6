import type { ServingCapacity } from '../../ports/runtime-engine.ts'
import { estimateMemory } from './memory-estimate.ts'
import type { EngineHost, MemoryEstimate, ServedModel } from './memory-estimate.ts'

/** An engine with slots embeds a text in one batch, whose memory grows with the square of its length. */
const maxEmbeddingContext = 2048
/** More gain nothing in a shared cache. Slots cost memory; older builds of llama.cpp have at most 64. */
const maxSequences = { 'shared-cache': 256, 'per-slot': 64 }
/** The length of a request that `parallelSequences` counts on where sequences share the cache. */
const typicalRequestTokens = 8192
/** The least that an engine on GPUs is started with, as far as the model and the ceilings allow it */
const baseline: ServingCapacity = { contextTokens: 8192, parallelSequences: 4 }
/** The least that is worth offering on an instance that is too small for the baseline */
const reducedBaseline: ServingCapacity = { contextTokens: 2048, parallelSequences: 1 }
/** The least context on a host whose memory is shared, unless the operator allows only less */
const leastSharedContext = 4096
/** vLLM refuses to start if one request of full length doesn't fit, so some of the cache stays free. */
const largestRequestShare = 0.9
/** A reduced context is a multiple of this many tokens. */
const contextStep = 1024

/** What an owner asks for; null for no minimum. */
export interface CapacityMinimums {
  contextTokens: number | null
  parallelSequences: number | null
}

export const noMinimums: CapacityMinimums = { contextTokens: null, parallelSequences: null }

/** The names of the settings that hold the ceilings. */
export interface CeilingSettings {
  context: string
  sequences: string
}

/** The operator's ceilings. */
export interface CapacityCeilings {
  /** null for the context of the model */
  contextTokens: number | null
  parallelSequences: number
  /** True if the operator allows a longer context, which would leave too little memory for others */
  leavesMemory?: boolean
  /** Omitted for ceilings that no setting changes */
  settings?: CeilingSettings | undefined
}

/** The capacity of engines that share the memory of a host with others. */
export type SharedCapacity = ServingCapacity & Pick<CapacityCeilings, 'settings'>

/** What an engine can serve in a given memory. */
export interface Sizing {
  capacity: ServingCapacity
  estimate: MemoryEstimate
  /** What limits each number: the model, the operator's ceiling, the engine, or the memory */
  limitedBy: { context: 'model' | 'ceiling' | 'memory'; sequences: 'engine' | 'ceiling' | 'memory' }
}

/** The least capacity for `minimums` and `ceilings`. Throws RangeError if a minimum can't be met. */
export function findLeastCapacity(
  model: ServedModel,
  ceilings: CapacityCeilings,
  minimums: CapacityMinimums,
  least: ServingCapacity = baseline,
): ServingCapacity {
  const context = limitContext(model, ceilings)
  const sequences = limitSequences(model, ceilings)
  const { contextTokens, parallelSequences } = minimums
  if ((contextTokens ?? 0) > context.most) {
    throw new RangeError(
      `A context of ${contextTokens} tokens is more than ${describeContextLimit(context, ceilings)}.`,
    )
  }
  if ((parallelSequences ?? 0) > sequences.most) {
    throw new RangeError(
      `${parallelSequences} parallel sequences are more than the ${sequences.most} that ${sequences.limitedBy === 'engine' ? 'the engine allows' : describeCeiling(ceilings.settings?.sequences)}.`,
    )
  }
  // A requested context takes precedence over sequences beyond the owner's minimum.
  const asksForContext = contextTokens !== null && contextTokens > least.contextTokens
  return {
    contextTokens: Math.max(Math.min(least.contextTokens, context.most), contextTokens ?? 0),
    parallelSequences: Math.max(
      Math.min(asksForContext ? 1 : least.parallelSequences, sequences.most),
      parallelSequences ?? 0,
    ),
  }
}

/** Halves the context until engines leave half of shared memory, but keeps enough for a short chat. */
export function reduceShared(
  model: ServedModel,
  host: EngineHost & { memoryBytes: number },
  shared: ServingCapacity,
): ServingCapacity {
  const { parallelSequences } = shared
  const { most } = limitContext(model, shared)
  const isModest = (contextTokens: number) =>
    model.variant.architecture !== null &&
    estimateCapacity(model, { contextTokens: Math.min(contextTokens, most), parallelSequences }, host)
      .totalBytes <=
      host.memoryBytes / 2
  let { contextTokens } = shared
  while (contextTokens > leastSharedContext && !isModest(contextTokens)) {
    contextTokens = Math.max(leastSharedContext, Math.floor(contextTokens / 2))
  }
  return { contextTokens, parallelSequences }
}

/**
 * Sizes an engine to `memoryBytes`: first the model's longest context, then the most sequences. Each slot
 * reserves its whole context. In a shared cache, sequences are an upper bound: the largest request fits
 * alone, and that many requests of a typical length fit together. Null if `least` doesn't fit.
 */
export function sizeEngine(
  model: ServedModel,
  host: EngineHost & { memoryBytes: number },
  ceilings: CapacityCeilings,
  least: ServingCapacity,
): Sizing | null {
  const estimate = (contextTokens: number, parallelSequences: number) =>
    estimateCapacity(model, { contextTokens, parallelSequences }, host)
  const fits = (contextTokens: number, parallelSequences: number) =>
    estimate(contextTokens, parallelSequences).totalBytes <= host.memoryBytes
  if (!fits(least.contextTokens, least.parallelSequences)) return null
  const context = limitContext(model, ceilings)
  const sequences = limitSequences(model, ceilings)
  // Without the architecture nothing says how large the cache is.
  const canGrow = model.variant.architecture !== null
  const contextTokens = canGrow
    ? findContext(least.contextTokens, context.most, (tokens) => fits(tokens, least.parallelSequences))
    : least.contextTokens
  const parallelSequences = canGrow
    ? findLargest(least.parallelSequences, sequences.most, (count) => fits(contextTokens, count))
    : least.parallelSequences
  return {
    capacity: { contextTokens, parallelSequences },
    estimate: estimate(contextTokens, parallelSequences),
    limitedBy: {
      context: contextTokens === context.most ? context.limitedBy : 'memory',
      sequences: parallelSequences === sequences.most ? sequences.limitedBy : 'memory',
    },
  }
}

/** Sizes an engine on an instance below the baseline; null if the reduced baseline doesn't fit either. */
export function sizeReducedEngine(
  model: ServedModel,
  offer: EngineHost & { memoryBytes: number },
  ceilings: CapacityCeilings,
): Sizing | null {
  return sizeEngine(model, offer, ceilings, findLeastCapacity(model, ceilings, noMinimums, reducedBaseline))
}

/** The memory for a capacity, by the way in which the engine allocates its cache. */
export function estimateCapacity(
  model: ServedModel,
  { contextTokens, parallelSequences }: ServingCapacity,
  host: EngineHost,
): MemoryEstimate {
  const estimate = (context: number, sequences: number) =>
    estimateMemory(model, { contextTokens: context, parallelSequences: sequences }, host)
  const sharesCache = model.engine.sizing === 'shared-cache' && model.variant.architecture !== null
  if (!sharesCache) return estimate(contextTokens, parallelSequences)
  const typical = estimate(Math.min(contextTokens, typicalRequestTokens), parallelSequences)
  const largest = estimate(contextTokens, 1)
  const cacheBytes = Math.max(typical.cacheBytes, largest.cacheBytes / largestRequestShare)
  return {
    ...typical,
    cacheBytes,
    totalBytes: Math.ceil(typical.totalBytes - typical.cacheBytes + cacheBytes),
  }
}

function limitContext({ variant, engine }: ServedModel, ceilings: CapacityCeilings) {
  const { modelType, contextLength } = variant
  const usesOneBatch = modelType !== 'LLM' && engine.sizing === 'per-slot'
  const ofModel = usesOneBatch ? Math.min(contextLength, maxEmbeddingContext) : contextLength
  const ceiling = ceilings.contextTokens ?? Infinity
  if (ceiling >= ofModel) return { most: ofModel, limitedBy: 'model' } as const
  return { most: ceiling, limitedBy: ceilings.leavesMemory === true ? 'memory' : 'ceiling' } as const
}

function limitSequences({ engine }: ServedModel, ceilings: CapacityCeilings) {
  const ofEngine = maxSequences[engine.sizing]
  return ceilings.parallelSequences < ofEngine
    ? ({ most: ceilings.parallelSequences, limitedBy: 'ceiling' } as const)
    : ({ most: ofEngine, limitedBy: 'engine' } as const)
}

function describeContextLimit(
  { most, limitedBy }: ReturnType<typeof limitContext>,
  { settings }: CapacityCeilings,
): string {
  return limitedBy === 'model'
    ? `the ${most} tokens that the model has`
    : `the ${most} tokens that ${describeCeiling(settings?.context)}`
}

function describeCeiling(setting: string | undefined): string {
  return setting === undefined ? 'this server allows' : `the operator allows with ${setting}`
}

function findContext(least: number, most: number, fits: (tokens: number) => boolean): number {
  const tokens = findLargest(least, most, fits)
  return tokens === most ? most : Math.max(least, Math.floor(tokens / contextStep) * contextStep)
}

/** The largest fitting number from `least` to `most`, by bisection; `least` if none fits. */
function findLargest(least: number, most: number, fits: (count: number) => boolean): number {
  let [low, high] = [least, Math.max(least, most)]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return low
}
