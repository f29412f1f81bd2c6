import type { ModelVariant } from '../../ports/model-runtime.ts'

/**
 * Bits that a weight takes on average, by quantization in lower case; llama.cpp's figures are those of its `quantize` tool
 * for Llama-3.1-8B.
 */
const bitsPerWeight: Record<string, number> = {
  none: 16,
  bf16: 16,
  f16: 16,
  f32: 32,
  fp8: 8.25,
  int8: 8.25,
  '8bit': 8.5,
  int4: 5.1,
  '4bit': 4.5,
  '4-bit': 4.5,
  fp4: 4.5,
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
  q2_k: 3.16,
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

/**
 * Memory that serving a variant takes: weights × 1.05, a 16-bit KV cache of 2 × layers × KV heads × head size values per token,
 * and an overhead per GPU, or per process on the host when `gpuCount` is 0. Without architecture facts: weights × 1.2 + 2 GiB.
 */
export function estimateMemory(
  variant: ModelVariant,
  { contextTokens, parallelSequences }: Serving,
  gpuCount: number,
): MemoryEstimate {
  const { architecture } = variant
  const weights = weightBytesOf(variant)
  if (architecture === null) {
    return sum(weights, weights * 0.2, 2 * 2 ** 30)
  }
  const cacheValues = 2 * architecture.layers * architecture.kvHeads * architecture.headDimension
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
  const parameters = architecture?.parameters ?? sizeInBillions * 1e9
  const bits = bitsPerWeight[quantization.toLowerCase().replace(/^ud-/, '')] ?? bitsPerWeight.bf16!
  return (parameters * bits) / 8
}

function sum(weightBytes: number, cacheBytes: number, overhead: number): MemoryEstimate {
  const totalBytes = Math.ceil(weightBytes + cacheBytes + overhead)
  return { weightBytes, cacheBytes, overheadBytes: overhead, totalBytes }
}
