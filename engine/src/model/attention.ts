import type { GgufFileInfo, LlamaModelOptions } from 'node-llama-cpp'
import type { Settings } from '../base/settings.ts'

/** Values that llama.cpp's AVX-512 code for F16 takes at once. It takes fewer ones singly. */
const f16Step = 64
/**
 * Makes attention with small heads fast on the CPU: flash attention and F16 would take a head's values
 * singly. The cache of a chat model is exact in F32 with twice its few bytes; other models read it once.
 */
const smallHeadAttention = {
  embedding: { defaultContextFlashAttention: false },
  rerank: { defaultContextFlashAttention: false },
  chat: {
    defaultContextFlashAttention: false,
    experimentalDefaultContextKvCacheKeyType: 'F32',
    experimentalDefaultContextKvCacheValueType: 'F32',
  },
} as const

/** The options of attention that suit a model on the CPU. */
export function chooseAttention(file: GgufFileInfo, type: Settings['type']): Partial<LlamaModelOptions> {
  return hasSmallHeads(file) ? smallHeadAttention[type] : {}
}

function hasSmallHeads({ architectureMetadata }: GgufFileInfo): boolean {
  const { embedding_length: width, attention } = architectureMetadata
  return (attention?.key_length ?? width! / Number(attention?.head_count)) < f16Step
}
