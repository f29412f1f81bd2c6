import { describe, expect, test } from 'vitest'
import type { ModelLora, EngineProfiles, ModelArchitecture, ModelVariant } from '../../ports/model-variant.ts'
import type { LoraServing, RuntimeEngine, ServingCapacity } from '../../ports/runtime-engine.ts'
import { engines, serve } from '../../../test/support/engines.ts'
import { estimateMemory } from './memory-estimate.ts'
import type { EngineHost } from './memory-estimate.ts'

const GiB = 2 ** 30
const MiB = 2 ** 20

/** Llama 3.1 8B, from its published configuration. */
const llama: ModelVariant = {
  modelName: 'llama',
  modelType: 'LLM',
  format: 'pytorch',
  sizeInBillions: 8,
  quantization: 'none',
  contextLength: 131_072,
  architecture: {
    parameters: 8_030_261_248,
    layers: 32,
    attentionHeads: 32,
    kvHeads: 8,
    headDimension: 128,
    hiddenSize: 4096,
    vocabularySize: 128_256,
  },
  weightBytes: null,
  weights: { kind: 'huggingface', repo: 'a/b', revision: 'main', files: [] },
  engines: {},
}
const capacity = { contextTokens: 8192, parallelSequences: 4 }
const oneGpu = { gpuCount: 1 }
const estimateOf = (variant: ModelVariant, serving: ServingCapacity, host: EngineHost) =>
  estimateMemory(serve(variant), serving, host)

test('16 bits per weight, 128 KiB of KV cache per token, and 1.5 GiB of overhead for one GPU', () => {
  const estimate = estimateOf(llama, capacity, oneGpu)
  expect(estimate.weightBytes).toBe(16_060_522_496)
  expect(estimate.cacheBytes).toBe(128 * 1024 * 8192 * 4)
  expect(estimate.overheadBytes).toBeCloseTo(16_060_522_496 * 0.05 + 1.5 * GiB, 0)
  expect(estimate.totalBytes).toBe(
    Math.ceil(estimate.weightBytes + estimate.cacheBytes + estimate.overheadBytes),
  )
})

test('an estimate is a number that JSON can hold, whatever a file claims', () => {
  const architecture = { ...llama.architecture!, layers: 10_000, hiddenSize: 2 ** 31, kvHeads: 2 ** 31 }
  const estimate = estimateOf({ ...llama, weightBytes: 9e15, architecture }, capacity, oneGpu)
  expect(Number.isSafeInteger(estimate.totalBytes)).toBe(true)
})

test('the overhead grows by 1.5 GiB per GPU', () => {
  const [one, two] = [1, 2].map((gpus) => estimateOf(llama, capacity, { gpuCount: gpus }).overheadBytes)
  expect(two! - one!).toBe(1.5 * GiB)
})

test('overhead on the host: 192 MiB, and 32-bit scores of a batch of 512 tokens', () => {
  const { overheadBytes, weightBytes } = estimateOf(llama, capacity, { gpuCount: 0 })
  expect(overheadBytes).toBeCloseTo(weightBytes * 0.05 + 192 * MiB + 512 * 128_256 * 4, 0)
})

test('saved states count for llama.cpp, but not for vLLM, embedding models and runtimes that keep none', () => {
  const stateBytesOf = (variant: ModelVariant, gpuCount: number) => {
    const [without, with_] = [{ gpuCount }, { gpuCount, stateCacheBytes: 256 * MiB }].map(
      (host) => estimateOf(variant, capacity, host).totalBytes,
    )
    return with_! - without!
  }
  const gguf = { ...llama, format: 'ggufv2' }
  expect([0, 1].map((gpuCount) => stateBytesOf(gguf, gpuCount))).toEqual([256 * MiB, 256 * MiB])
  expect(stateBytesOf(llama, 0)).toBe(0)
  expect(stateBytesOf({ ...gguf, modelType: 'embedding' }, 0)).toBe(0)
})

test('overhead of an embedding model on the host: 32-bit scores of each token pair per head', () => {
  const { overheadBytes, weightBytes } = estimateOf({ ...llama, modelType: 'embedding' }, capacity, {
    gpuCount: 0,
  })
  expect(overheadBytes).toBeCloseTo(weightBytes * 0.05 + 192 * MiB + 8192 ** 2 * 32 * 4, 0)
})

test.each([
  ['Q4_K_M', 4.89],
  ['q8_0', 8.5],
  ['UD-Q4_K_M', 4.89],
  ['UD-IQ2_M', 2.93],
  ['nvfp4', 4.5],
  ['an unknown quantization', 16],
])('%s takes %d bits per weight', (quantization, bits) => {
  const { weightBytes } = estimateOf({ ...llama, quantization }, capacity, oneGpu)
  expect(weightBytes).toBeCloseTo((8_030_261_248 * bits) / 8, 0)
})

test.each([
  ['fp8', 8.25],
  ['Int8', 8.25],
  ['Int4', 4.25],
])('%s: %d bits for linear layers, 16 for the embeddings and the output', (quantization, bits) => {
  const embeddings = 2 * 128_256 * 4096
  const { weightBytes } = estimateOf({ ...llama, quantization }, capacity, oneGpu)
  expect(weightBytes).toBeCloseTo(((8_030_261_248 - embeddings) * bits) / 8 + embeddings * 2, 0)
})

test('a small model shares one matrix between the embeddings and the output', () => {
  const architecture = { ...llama.architecture!, parameters: 12 * 128_256 * 4096 - 8 }
  const { weightBytes } = estimateOf({ ...llama, architecture, quantization: 'Int4' }, capacity, oneGpu)
  expect(weightBytes).toBeCloseTo(((11 * 128_256 * 4096 - 8) * 4.25) / 8 + 128_256 * 4096 * 2, 0)
})

test.each([
  ['Int4', 5.1],
  ['fp8', 8.5],
])('%s with an unknown architecture: %d bits per weight', (quantization, bits) => {
  const { weightBytes } = estimateOf({ ...llama, quantization, architecture: null }, capacity, oneGpu)
  expect(weightBytes).toBeCloseTo((8e9 * bits) / 8, 0)
})

test('with more GPUs than KV heads the heads are copied, except by llama.cpp', () => {
  const architecture = { ...llama.architecture!, kvHeads: 4 }
  const cacheOf = (format: string, gpus: number) =>
    estimateOf({ ...llama, architecture, format }, capacity, { gpuCount: gpus }).cacheBytes
  expect(cacheOf('pytorch', 4)).toBe(cacheOf('pytorch', 1))
  expect(cacheOf('pytorch', 8)).toBe(2 * cacheOf('pytorch', 1))
  expect(cacheOf('ggufv2', 8)).toBe(cacheOf('ggufv2', 1))
})

test('a known file size takes precedence', () => {
  expect(estimateOf({ ...llama, weightBytes: 5 }, capacity, oneGpu).weightBytes).toBe(5)
})

test('unknown architecture: weights × 1.2 + 2 GiB', () => {
  const { totalBytes } = estimateOf({ ...llama, architecture: null }, capacity, oneGpu)
  expect(totalBytes).toBe(Math.ceil(16e9 * 1.2 + 2 * GiB))
})

describe('KV cache', () => {
  const cacheOf = (
    changes: Partial<ModelArchitecture>,
    format: string,
    contextTokens: number,
    parallelSequences = 1,
  ) =>
    estimateOf(
      { ...llama, format, architecture: { ...llama.architecture!, ...changes } },
      { contextTokens, parallelSequences },
      oneGpu,
    ).cacheBytes

  test('multi-head latent attention: DeepSeek V3 has 61 layers of 576 values, copied to every GPU', () => {
    const latent = { layers: 61, attentionHeads: 128, kvHeads: 1, headDimension: 288 }
    expect(cacheOf(latent, 'fp8', 1000)).toBe(61 * 576 * 2 * 1000)
    const variant = { ...llama, format: 'fp8', architecture: { ...llama.architecture!, ...latent } }
    const onEight = estimateOf(variant, { contextTokens: 1000, parallelSequences: 1 }, { gpuCount: 8 })
    expect(onEight.cacheBytes).toBe(8 * 61 * 576 * 2 * 1000)
  })

  // Gemma 3 27B: 10 layers with full attention, 52 with a window of 1024 tokens, 16 KV heads of 128 values.
  const gemma = { layers: 62, kvHeads: 16, headDimension: 128, slidingLayers: 52, slidingWindow: 1024 }
  const perToken = 2 * 16 * 128 * 2

  test('layers with a sliding window keep its tokens: llama.cpp for each slot, with room for a batch of 512', () => {
    expect(cacheOf(gemma, 'ggufv2', 131_072, 2)).toBe(perToken * 2 * (10 * 131_072 + 52 * (1024 + 512)))
    expect(cacheOf(gemma, 'ggufv2', 1000), 'shorter than the window').toBe(perToken * 62 * 1000)
  })

  test('vLLM rounds these layers up to groups of 10, and keeps the tokens of prompts in progress once', () => {
    expect(cacheOf(gemma, 'pytorch', 131_072, 2)).toBe(
      perToken * (10 * 2 * 131_072 + 60 * (2 * 1024 + 16_384)),
    )
  })

  // Gemma 4 31B: 10 layers of 4 KV heads of 512 values, 50 of 16 heads of 256 with a window of 1024 tokens.
  const mixed = {
    layers: 60,
    kvHeads: 4,
    headDimension: 512,
    slidingLayers: 50,
    slidingWindow: 1024,
    slidingKvHeads: 16,
    slidingHeadDimension: 256,
  }

  test('sliding layers may have heads of their own: a request of 262144 tokens takes what a trace of vLLM 0.29 found', () => {
    const traced = 13_637 * 2_621_440
    const estimated = cacheOf(mixed, 'pytorch', 262_144)
    expect(estimated).toBe(4 * (10 * 4 * 512 * 262_144 + 50 * 16 * 256 * (1024 + 16_384)))
    expect(Math.abs(estimated / traced - 1)).toBeLessThan(0.001)
    expect(cacheOf(mixed, 'ggufv2', 262_144, 2)).toBe(
      2 * 4 * (10 * 4 * 512 * 262_144 + 50 * 16 * 256 * (1024 + 512)),
    )
  })

  test('only the heads that are fewer than the GPUs are copied', () => {
    const variant = { ...llama, architecture: { ...llama.architecture!, ...mixed } }
    const onEight = estimateOf(variant, { contextTokens: 1000, parallelSequences: 1 }, { gpuCount: 8 })
    expect(onEight.cacheBytes).toBe(4 * (10 * 8 * 512 * 1000 + 50 * 16 * 256 * 2000))
  })

  test('layers without attention have a state of fixed size per sequence; vLLM keeps two', () => {
    const hybrid = { layers: 16, kvHeads: 4, headDimension: 256, stateBytes: 153_944_064 }
    const attention = 2 * 4 * 256 * 2 * 16 * 1000 * 3
    expect(cacheOf(hybrid, 'ggufv2', 1000, 3)).toBe(attention + 3 * 153_944_064)
    expect(cacheOf(hybrid, 'pytorch', 1000, 3)).toBe(attention + 3 * 2 * 153_944_064)
  })
})

test('a projector takes memory in llama.cpp; in vLLM it is part of the weights, and the embedded engine loads none', () => {
  const profiles = { llamaCpp: { projector: 'mmproj.gguf' } }
  const projectorOf = (engine: RuntimeEngine) => {
    const overheadOf = (each: EngineProfiles) =>
      estimateMemory({ variant: { ...llama, engines: each }, engine }, capacity, oneGpu).overheadBytes
    return overheadOf(profiles) - overheadOf({})
  }
  expect(projectorOf(engines.llamaCpp)).toBe(1.5 * GiB)
  expect(projectorOf(engines.vllm)).toBe(0)
  expect(projectorOf(engines.embedded)).toBe(0)
})

describe('adapters', () => {
  const lora = (rank: number, weightBytes: number): ModelLora => ({
    modelId: 'a',
    modelName: 'a',
    format: 'lora-peft',
    rank,
    weightBytes,
    weights: { kind: 'file', path: String(rank) },
  })
  // The last two names have one file.
  const loras = [lora(8, 10 * MiB), lora(12, 30 * MiB), lora(12, 30 * MiB)]
  const addedBy = (serving: LoraServing, variant = llama, host: EngineHost = oneGpu) => {
    const served = { variant, engine: { ...engines.vllm, loras: serving } }
    const without = estimateMemory(served, capacity, host).totalBytes
    return estimateMemory({ ...served, loras }, capacity, host).totalBytes - without
  }

  test('take what their files have', () => {
    const files: LoraServing = { format: 'lora-gguf', selectedBy: 'list' }
    expect(addedBy(files)).toBe(40 * MiB)
    expect(addedBy(files, { ...llama, architecture: null })).toBe(40 * MiB)
  })

  test('take as much as the largest one at the next rank that the engine has room for', () => {
    const places: LoraServing = { format: 'lora-peft', selectedBy: 'name', ranks: [8, 16, 32] }
    const place = (30 * MiB * 16) / 12
    expect(addedBy(places)).toBe(2 * place)
    expect(addedBy(places, llama, { gpuCount: 0 }), 'with the empty place').toBe(3 * place)
  })
})
