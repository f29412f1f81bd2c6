import type { ModelVariant } from '../../../ports/model-runtime.ts'
import type { LocalRuntimeSettings } from './settings.ts'

/** How an engine is started: tokens of context for each sequence, and sequences at a time. */
export interface EngineShape {
  contextTokens: number
  parallel: number
}

/** Node with llama.cpp and its small buffers; measured at 120 MB with a tiny model */
const ENGINE_BYTES = 160e6
/** What the engine takes at least */
const SHORTEST_CONTEXT = 128
const LONGEST_EMBEDDING_CONTEXT = 8192
/** Tokens that llama.cpp computes at a time, each with one float for every word of the vocabulary */
const BATCH_TOKENS = 512

/** The context and the parallel sequences that an engine of this variant gets, which bound its memory. */
export function chooseEngineShape(
  variant: Pick<ModelVariant, 'modelType' | 'contextLength'>,
  settings: Pick<LocalRuntimeSettings, 'contextTokens' | 'parallel'>,
): EngineShape {
  if (variant.modelType === 'embedding') {
    return { contextTokens: clampContext(variant.contextLength, LONGEST_EMBEDDING_CONTEXT), parallel: 1 }
  }
  return {
    contextTokens: clampContext(variant.contextLength, settings.contextTokens ?? 4096),
    parallel: settings.parallel ?? 4,
  }
}

function clampContext(trained: number, limit: number): number {
  return Math.max(SHORTEST_CONTEXT, Math.min(trained, limit))
}

/**
 * Bytes that an engine needs: the weights with 5 % for alignment and tables, a key and a value of 2 bytes (f16) in each
 * layer for each token of context, the scores of one batch, and the process itself.
 */
export function estimateEngineMemory(variant: ModelVariant, weightBytes: number, shape: EngineShape): number {
  const tokens = shape.contextTokens * shape.parallel
  const { architecture } = variant
  const cacheBytesPerToken =
    architecture === null
      ? // Unknown: what models with grouped-query attention have, 128 kB for 8 billion parameters.
        16_000 * Math.max(variant.sizeInBillions, 0.5)
      : 2 * 2 * architecture.layers * architecture.kvHeads * architecture.headDimension
  const vocabulary = architecture?.vocabularySize ?? 150_000
  const scores = 4 * vocabulary * Math.min(BATCH_TOKENS, shape.contextTokens)
  return Math.ceil(weightBytes * 1.05 + tokens * cacheBytesPerToken + scores + ENGINE_BYTES)
}

/** Bytes of weights that nobody has measured, from the bits of the quantization's name. */
export function guessWeightBytes(variant: Pick<ModelVariant, 'sizeInBillions' | 'quantization'>): number {
  const bits = /(?:Q|F|INT)(\d+)/i.exec(variant.quantization)?.[1]
  // Quantized blocks carry their scales, about half a bit for each weight, and some layers keep more bits.
  return Math.ceil((variant.sizeInBillions * 1e9 * (Number(bits ?? 16) + 0.8)) / 8)
}

/**
 * Threads for one engine. llama.cpp's threads wait for each other by spinning, so two engines with more threads than
 * cores between them slow each other down many times over. Each engine therefore gets a fixed share of the cores, for as
 * many engines as are expected to be busy together; a share that followed the number of engines would be wrong for
 * those already running.
 */
export function chooseThreads(cores: number, expectedEngines: number): number {
  return Math.max(1, Math.floor(cores / expectedEngines))
}
