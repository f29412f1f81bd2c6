import type { ModelArchitecture, ModelVariant } from '../../ports/model-runtime.ts'

/**
 * Bits that a weight takes on average, all of a model's weights together, by quantization in lower case; llama.cpp's figures are
 * those of its `quantize` tool for Llama-3.1-8B. What is not named is taken for 16 bits.
 */
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

/**
 * Bits with scales that awq, gptq and fp8 give the weights of linear layers; those of the embeddings and of the output stay at 16.
 * `average` is for models whose embeddings are not known.
 */
const linearBits: Record<string, { linear: number; average: number }> = {
  fp8: { linear: 8.25, average: 8.5 },
  int8: { linear: 8.25, average: 8.5 },
  int4: { linear: 4.25, average: 5.1 },
}

const cacheBytesPerValue = 2

/**
 * llama.cpp sets aside 32-bit scores: for each word of the vocabulary and each token of a batch of a prompt, or, where a whole
 * text is embedded at once, for each head and each pair of tokens.
 */
const promptBatchTokens = 512
const scoreBytes = 4

/** Memory of one engine beside weights and KV cache: the runtime itself and its compute buffers. */
const overheadBytes = { gpu: 1.5 * 2 ** 30, host: 192 * 2 ** 20 }

export interface MemoryEstimate {
  weightBytes: number
  cacheBytes: number
  overheadBytes: number
  totalBytes: number
}

/** What a model is served with: `contextTokens` for each of `parallelSequences` requests at a time. */
export interface Serving {
  contextTokens: number
  parallelSequences: number
}

/** True where several GPUs share every layer, so each holds a part of the heads; llama.cpp gives each GPU whole layers. */
export function splitsHeads(format: string): boolean {
  return format !== 'ggufv2'
}

/**
 * Memory that serving a variant takes: weights × 1.05, a 16-bit KV cache of 2 × layers × KV heads × head size values per token,
 * and an overhead per GPU, or per process on the host when `gpuCount` is 0. Where heads are split over more GPUs than there are
 * KV heads, these are copied. All experts of a model count. Without architecture facts: weights × 1.2 + 2 GiB.
 */
export function estimateMemory(
  variant: ModelVariant,
  { contextTokens, parallelSequences }: Serving,
  gpuCount: number,
): MemoryEstimate {
  const { architecture, format } = variant
  const weights = weightBytesOf(variant)
  if (architecture === null) {
    return sum(weights, weights * 0.2, 2 * 2 ** 30)
  }
  const copies = splitsHeads(format) ? Math.max(1, gpuCount / architecture.kvHeads) : 1
  const cacheValues = 2 * architecture.layers * architecture.kvHeads * architecture.headDimension * copies
  const cache = cacheValues * cacheBytesPerValue * contextTokens * parallelSequences
  const batch =
    variant.modelType === 'embedding'
      ? contextTokens ** 2 * architecture.attentionHeads
      : promptBatchTokens * architecture.vocabularySize
  const overhead = gpuCount > 0 ? overheadBytes.gpu * gpuCount : overheadBytes.host + batch * scoreBytes
  return sum(weights, cache, weights * 0.05 + overhead)
}

/** Bytes of the weights: the files' size where it is known, else parameters × bits per weight. */
function weightBytesOf({ weightBytes, architecture, sizeInBillions, quantization }: ModelVariant): number {
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
 * Weights of the embeddings and of the output. Models that two matrices would be too large a part of use one for both; which do
 * is not among the facts, so a matrix of more than a twelfth of the whole is taken for shared: Qwen 2.5 and 3 up to 4B and
 * Llama 3.2 are, their larger sisters are not. Where this is wrong it is too much, never too little, for models of today.
 */
function countEmbeddingWeights({ parameters, hiddenSize, vocabularySize }: ModelArchitecture): number {
  const matrix = hiddenSize * vocabularySize
  return Math.min(matrix > parameters / 12 ? matrix : 2 * matrix, parameters)
}

function sum(weightBytes: number, cacheBytes: number, overhead: number): MemoryEstimate {
  const totalBytes = Math.ceil(weightBytes + cacheBytes + overhead)
  return { weightBytes, cacheBytes, overheadBytes: overhead, totalBytes }
}
