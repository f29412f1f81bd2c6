import type { InstanceOffer } from '../../ports/model-runtime.ts'
import type { ModelLora, ModelArchitecture, ModelVariant } from '../../ports/model-variant.ts'
import type { RuntimeEngine, ServingCapacity } from '../../ports/runtime-engine.ts'
import { groupByFile } from './loaded-loras.ts'

/** Average bits per weight, 16 if unlisted. llama.cpp's: from its `quantize` tool for Llama-3.1-8B. */
const bitsPerWeight: Record<string, number> = {
  f32: 32,
  '8bit': 8.5,
  '8-bit': 8.5,
  '4bit': 4.5,
  '4-bit': 4.5,
  fp4: 4.5,
  nf4: 4.5,
  nvfp4: 4.5,
  mxfp4: 4.5,
  q8_0: 8.5,
  q6_k: 6.56,
  q5_k_m: 5.7,
  q5_k_s: 5.57,
  q5_0: 5.6,
  q4_k_m: 4.89,
  q4_k_s: 4.67,
  q4_0: 4.6,
  iq4_nl: 4.68,
  iq4_xs: 4.46,
  q3_k_l: 4.3,
  q3_k_m: 4,
  q3_k_s: 3.64,
  iq3_m: 3.76,
  iq3_xxs: 3.25,
  q2_k: 3.16,
  iq2_m: 2.93,
  iq2_xxs: 2.38,
  iq1_s: 2,
}
const fullBits = 16

/** Bits per linear weight, with scales. Embeddings and output have 16; `average` is for unknown sizes. */
const linearBits: Record<string, { linear: number; average: number }> = {
  fp8: { linear: 8.25, average: 8.5 },
  int8: { linear: 8.25, average: 8.5 },
  int4: { linear: 4.25, average: 5.1 },
}

const cacheBytesPerValue = 2
/** The embedded engine keeps heads below 64 in 32 bits on the CPU (`engine/src/model/load-model.ts`). */
const smallHead = { dimension: 64, cacheBytesPerValue: 4 }

/**
 * llama.cpp allocates 32-bit scores: one per vocabulary entry and token of a prompt batch, or, for
 * embeddings, whose texts are one batch, one per head and token pair.
 */
const promptBatchTokens = 512
const scoreBytes = 4

/** Memory besides weights, KV cache and saved states: the engine itself and its compute buffers. */
const overheadBytes = { gpu: 1.5 * 2 ** 30, host: 192 * 2 ** 20 }
/** A multimodal projector of llama.cpp with its compute buffer */
const projectorBytes = 1.5 * 2 ** 30

/**
 * A shared cache in vLLM: tokens of prompts in process at the same time, kept even in layers with a sliding
 * window, and a sequence's states: the current one and that of its last cached prefix.
 */
const sharedCache = { batchTokens: 2 * 8192, statesPerSequence: 2 }

export interface MemoryEstimate {
  weightBytes: number
  cacheBytes: number
  overheadBytes: number
  totalBytes: number
}

/** A variant and the engine that serves it. */
export interface ServedModel {
  variant: ModelVariant
  engine: Pick<RuntimeEngine, 'sizing' | 'images' | 'profile' | 'loras'>
  /** Omitted for none */
  loras?: readonly ModelLora[] | undefined
}

/** Where an engine runs. */
export type EngineHost = Pick<InstanceOffer, 'gpuCount' | 'stateCacheBytes'>

/**
 * Estimates the memory of a variant: weights × 1.05, a 16-bit KV cache for `parallelSequences` requests of
 * `contextTokens`, and an overhead per GPU, or per process on the host when `gpuCount` is 0, with the saved
 * states of slots. All experts count. With an unknown architecture: weights × 1.2 + 2 GiB.
 */
export function estimateMemory(
  { variant, engine, loras = [] }: ServedModel,
  capacity: ServingCapacity,
  { gpuCount, stateCacheBytes = 0 }: EngineHost,
): MemoryEstimate {
  const { architecture } = variant
  const weights = estimateWeightBytes(variant)
  if (architecture === null) {
    return sum(weights, weights * 0.2, 2 * 2 ** 30 + estimateLoras(engine, loras, gpuCount))
  }
  const batch =
    variant.modelType === 'LLM'
      ? promptBatchTokens * architecture.vocabularySize
      : capacity.contextTokens ** 2 * architecture.attentionHeads
  const hasSlots = engine.sizing === 'per-slot'
  const keepsStates = variant.modelType === 'LLM' && hasSlots
  const overhead =
    (gpuCount > 0 ? overheadBytes.gpu * gpuCount : overheadBytes.host + batch * scoreBytes) +
    (keepsStates ? stateCacheBytes : 0)
  const usesProjector =
    engine.images === 'projector' && variant.engines[engine.profile]?.projector !== undefined
  const projector = usesProjector ? projectorBytes : 0
  const cache = (hasSlots ? estimateSlots : estimateSharedCache)(architecture, capacity, gpuCount)
  const besides = projector + estimateLoras(engine, loras, gpuCount)
  return sum(weights, cache, weights * 0.05 + overhead + besides)
}

/** Bytes of LoRAs: the largest's each, if the engine has room for some ranks, and one more on the host. */
function estimateLoras(
  { loras: serving }: ServedModel['engine'],
  loras: readonly ModelLora[],
  gpuCount: number,
): number {
  if (loras.length === 0) return 0
  const loaded = groupByFile(loras).map(([lora]) => lora)
  const rank = toReservedRank(serving?.ranks ?? [], loaded)
  const sizes = loaded.map((lora) => lora.weightBytes * Math.max(1, rank / lora.rank))
  return serving?.ranks === undefined
    ? sizes.reduce((total, size) => total + size, 0)
    : (gpuCount > 0 ? loaded.length : loaded.length + 1) * Math.max(...sizes)
}

/** The least of an engine's ranks that all LoRAs fit in; 0 without one. */
function toReservedRank(ranks: readonly number[], loras: readonly ModelLora[]): number {
  const largest = Math.max(0, ...loras.map((lora) => lora.rank))
  return ranks.find((rank) => rank >= largest) ?? 0
}

/**
 * Bytes of a KV cache in slots: 2 × KV heads × head size values per token and layer. Layers with a sliding
 * window keep only its tokens, and layers without attention a state of fixed size. Multi-head latent
 * attention is one KV head, the latent vector, in the catalog.
 */
function estimateSlots(
  architecture: ModelArchitecture,
  { contextTokens, parallelSequences }: ServingCapacity,
  gpuCount: number,
): number {
  const { layers, kvHeads, headDimension, slidingWindow = 0, stateBytes = 0 } = architecture
  const sliding = slidingLayersOf(architecture)
  const bytesOf = (heads: number, dimension: number) => {
    const isSmallHeadOnCpu = gpuCount === 0 && dimension < smallHead.dimension
    return 2 * heads * dimension * (isSmallHeadOnCpu ? smallHead.cacheBytesPerValue : cacheBytesPerValue)
  }
  const slidingTokens = Math.min(contextTokens, roundUp(slidingWindow + promptBatchTokens, 256))
  const full = bytesOf(kvHeads, headDimension) * (layers - sliding.count) * contextTokens
  const window = bytesOf(sliding.kvHeads, sliding.headDimension) * sliding.count * slidingTokens
  return (full + window + stateBytes) * parallelSequences
}

/** Bytes of a shared KV cache. Tensor parallelism copies KV heads when there are more GPUs than heads. */
function estimateSharedCache(
  architecture: ModelArchitecture,
  { contextTokens, parallelSequences }: ServingCapacity,
  gpuCount: number,
): number {
  const { layers, kvHeads, headDimension, slidingWindow = 0, stateBytes = 0 } = architecture
  const sliding = slidingLayersOf(architecture)
  const bytesOf = (heads: number, dimension: number) =>
    2 * Math.max(heads, gpuCount) * dimension * cacheBytesPerValue
  const full = layers - sliding.count
  // vLLM stores layers in groups as large as the full-attention layers, so it rounds up.
  const slidingCount = full > 0 ? Math.ceil(sliding.count / full) * full : sliding.count
  const slidingTokens =
    Math.min(contextTokens, slidingWindow) * parallelSequences +
    Math.min(contextTokens, sharedCache.batchTokens)
  const states = stateBytes * parallelSequences * sharedCache.statesPerSequence
  return (
    bytesOf(kvHeads, headDimension) * full * contextTokens * parallelSequences +
    bytesOf(sliding.kvHeads, sliding.headDimension) * slidingCount * slidingTokens +
    states
  )
}

/** The layers with a sliding window. In some models their heads differ from those of the other layers. */
function slidingLayersOf({
  kvHeads,
  headDimension,
  slidingLayers: count = 0,
  slidingKvHeads = kvHeads,
  slidingHeadDimension = headDimension,
}: ModelArchitecture) {
  return { count, kvHeads: slidingKvHeads, headDimension: slidingHeadDimension }
}

function roundUp(value: number, step: number): number {
  return Math.ceil(value / step) * step
}

/** Size of the weights in bytes: the file size if known, otherwise parameters × bits per weight. */
export function estimateWeightBytes({
  weightBytes,
  architecture,
  sizeInBillions,
  quantization,
}: ModelVariant): number {
  if (weightBytes !== null) return weightBytes
  const name = quantization.toLowerCase().replace(/^ud-/, '')
  const partial = linearBits[name]
  if (partial !== undefined && architecture !== null) {
    const kept = countEmbeddingWeights(architecture)
    return ((architecture.parameters - kept) * partial.linear + kept * fullBits) / 8
  }
  const parameters = architecture?.parameters ?? sizeInBillions * 1e9
  return (parameters * (partial?.average ?? bitsPerWeight[name] ?? fullBits)) / 8
}

/**
 * Counts the weights of the embeddings and the output. Small models share one matrix, which the catalog
 * doesn't say. A matrix larger than a twelfth of the model counts as shared, which holds for Qwen 2.5 and 3
 * up to 4B and Llama 3.2, but not for larger ones. For current models a wrong guess only overestimates.
 */
function countEmbeddingWeights({ parameters, hiddenSize, vocabularySize }: ModelArchitecture): number {
  const matrix = hiddenSize * vocabularySize
  return Math.min(matrix > parameters / 12 ? matrix : 2 * matrix, parameters)
}

function sum(weightBytes: number, cacheBytes: number, overhead: number): MemoryEstimate {
  // A file may claim more than any number of bytes.
  const totalBytes = Math.min(Math.ceil(weightBytes + cacheBytes + overhead), Number.MAX_SAFE_INTEGER)
  return { weightBytes, cacheBytes, overheadBytes: overhead, totalBytes }
}
