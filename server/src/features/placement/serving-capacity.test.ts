import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ModelVariant } from '../../ports/model-variant.ts'
import { serve } from '../../../test/support/engines.ts'
import { estimateCapacity, findLeastCapacity, noMinimums, sizeEngine } from './serving-capacity.ts'
import type { CapacityCeilings, CapacityMinimums, Sizing } from './serving-capacity.ts'

const GiB = 2 ** 30
const open: CapacityCeilings = { contextTokens: null, parallelSequences: 4096 }

/** Qwen2.5 7B, from its published configuration. */
const qwen: ModelVariant = {
  modelName: 'qwen2.5-instruct',
  modelType: 'LLM',
  format: 'pytorch',
  sizeInBillions: 7,
  quantization: 'none',
  contextLength: 32_768,
  architecture: {
    parameters: 7_615_616_512,
    layers: 28,
    attentionHeads: 28,
    kvHeads: 4,
    headDimension: 128,
    hiddenSize: 3584,
    vocabularySize: 152_064,
  },
  weightBytes: null,
  weights: { kind: 'huggingface', repo: 'a/b', revision: 'main', files: [] },
  engines: {},
}

function size(
  variant: ModelVariant,
  usableGiB: number,
  {
    ceilings = open,
    minimums = noMinimums,
    gpuCount = 1,
  }: Partial<{ ceilings: CapacityCeilings; minimums: CapacityMinimums; gpuCount: number }> = {},
): Sizing | null {
  const least = findLeastCapacity(serve(variant), ceilings, minimums)
  return sizeEngine(serve(variant), { gpuCount, memoryBytes: Math.floor(usableGiB * GiB) }, ceilings, least)
}

test('Qwen2.5 7B in bf16 on 80 GB gets at least 32k × 16 in vLLM, and in llama.cpp', () => {
  for (const format of ['pytorch', 'ggufv2']) {
    const { capacity, limitedBy } = size({ ...qwen, format }, 0.9 * 79.6)!
    expect(capacity.contextTokens).toBe(32_768)
    expect(capacity.parallelSequences).toBeGreaterThanOrEqual(16)
    expect(limitedBy.context).toBe('model')
  }
})

test('sequences of llama.cpp reserve their context; sequences of vLLM share the cache', () => {
  const reserved = size({ ...qwen, format: 'ggufv2', quantization: 'Q8_0' }, 40)!
  const oneMore = { ...reserved.capacity, parallelSequences: reserved.capacity.parallelSequences + 1 }
  expect(reserved.estimate.cacheBytes).toBe(56 * 1024 * 32_768 * reserved.capacity.parallelSequences)
  expect(
    estimateCapacity(serve({ ...qwen, format: 'ggufv2', quantization: 'Q8_0' }), oneMore, { gpuCount: 1 })
      .totalBytes,
  ).toBeGreaterThan(40 * GiB)

  const shared = size(qwen, 40)!
  expect(shared.estimate.cacheBytes).toBe(56 * 1024 * 8192 * shared.capacity.parallelSequences)
})

test('the context is reduced only if it does not fit', () => {
  const long = { ...qwen, contextLength: 1_048_576 }
  expect(size(long, 71)).toMatchObject({
    capacity: { contextTokens: 919_552 },
    limitedBy: { context: 'memory' },
  })
  expect(size(qwen, 18.3)).toMatchObject({ capacity: { contextTokens: 31_744, parallelSequences: 4 } })
  expect(size(qwen, 18.1), 'less than 4 × 8192').toBeNull()
})

test('more than 256 sequences in vLLM and 64 in llama.cpp gain nothing', () => {
  const small = { ...qwen, contextLength: 2048 }
  expect(size(small, 130)).toMatchObject({
    capacity: { parallelSequences: 256 },
    limitedBy: { sequences: 'engine' },
  })
  expect(size({ ...small, format: 'ggufv2' }, 130)).toMatchObject({ capacity: { parallelSequences: 64 } })
})

test("the operator's ceilings limit both numbers", () => {
  const ceilings = { contextTokens: 16_384, parallelSequences: 12 }
  expect(size(qwen, 71, { ceilings })).toMatchObject({
    capacity: { contextTokens: 16_384, parallelSequences: 12 },
    limitedBy: { context: 'ceiling', sequences: 'ceiling' },
  })
  expect(size(qwen, 71, { ceilings: { contextTokens: 512, parallelSequences: 1 } })).toMatchObject({
    capacity: { contextTokens: 512, parallelSequences: 1 },
  })
})

describe('minimums', () => {
  test('are met, or the instance does not fit', () => {
    const longContext = { contextTokens: 32_768, parallelSequences: null }
    expect(size(qwen, 18.6, { minimums: longContext })).toMatchObject({ capacity: { contextTokens: 32_768 } })
    expect(size(qwen, 17, { minimums: longContext })).toBeNull()
    const manySequences = { contextTokens: null, parallelSequences: 64 }
    expect(size(qwen, 71, { minimums: manySequences })!.capacity.parallelSequences).toBeGreaterThanOrEqual(64)
    expect(size(qwen, 40, { minimums: manySequences })).toBeNull()
  })

  test('a long context on llama.cpp takes precedence over the usual four sequences', () => {
    const gguf = { ...qwen, format: 'ggufv2', quantization: 'Q4_K_M' }
    expect(size(gguf, 9)).toMatchObject({ capacity: { contextTokens: 13_312, parallelSequences: 4 } })
    const minimums = { contextTokens: 32_768, parallelSequences: null }
    expect(size(gguf, 9, { minimums })).toMatchObject({
      capacity: { contextTokens: 32_768, parallelSequences: 1 },
    })
  })

  test.each([
    [{ contextTokens: 32_769, parallelSequences: null }, 'more than the 32768 tokens that the model has'],
    [{ contextTokens: null, parallelSequences: 257 }, 'more than the 256 that the engine allows'],
  ])('%o: %s', (minimums, message) => {
    expect(() => findLeastCapacity(serve(qwen), open, minimums)).toThrow(message)
  })
})

const someVariant = fc.record({
  format: fc.constantFrom('pytorch', 'awq', 'fp8', 'ggufv2'),
  modelType: fc.constantFrom('LLM' as const, 'embedding' as const),
  contextLength: fc.integer({ min: 256, max: 2_000_000 }),
  weightBytes: fc.integer({ min: 1, max: 200 * GiB }),
  architecture: fc.option(
    fc
      .record({
        parameters: fc.integer({ min: 1e8, max: 1e12 }),
        layers: fc.integer({ min: 1, max: 130 }),
        kvHeads: fc.constantFrom(1, 2, 4, 8, 32),
        headDimension: fc.constantFrom(32, 64, 128, 256, 288),
        hiddenSize: fc.constant(4096),
        vocabularySize: fc.constant(128_000),
        slidingWindow: fc.constantFrom(128, 1024, 4096),
        slidingShare: fc.double({ min: 0, max: 1, noNaN: true }),
        stateBytes: fc.option(fc.integer({ min: 1, max: 200e6 }), { nil: undefined }),
      })
      .map(({ slidingShare, ...facts }) => ({
        ...facts,
        attentionHeads: 32,
        slidingLayers: Math.floor(facts.layers * slidingShare),
      })),
  ),
})

test('for any model, instance, ceilings and minimums, the estimate never exceeds the memory, and one step more would', () => {
  fc.assert(
    fc.property(
      someVariant,
      fc.record({
        gpuCount: fc.constantFrom(0, 1, 2, 4, 8),
        memoryBytes: fc.integer({ min: 1, max: 1200 * GiB }),
      }),
      fc.record({
        contextTokens: fc.option(fc.integer({ min: 256, max: 500_000 })),
        parallelSequences: fc.integer({ min: 1, max: 512 }),
      }),
      fc.record({
        contextTokens: fc.option(fc.integer({ min: 1, max: 200_000 })),
        parallelSequences: fc.option(fc.integer({ min: 1, max: 64 })),
      }),
      (facts, offer, ceilings, minimums) => {
        const model = serve({ ...qwen, ...facts })
        let least
        try {
          least = findLeastCapacity(model, ceilings, minimums)
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError)
          return
        }
        const total = (contextTokens: number, parallelSequences: number) =>
          estimateCapacity(model, { contextTokens, parallelSequences }, offer).totalBytes
        const sizing = sizeEngine(model, offer, ceilings, least)
        if (sizing === null) {
          expect(total(least.contextTokens, least.parallelSequences)).toBeGreaterThan(offer.memoryBytes)
          return
        }
        const { contextTokens, parallelSequences } = sizing.capacity
        expect(sizing.estimate.totalBytes).toBe(total(contextTokens, parallelSequences))
        expect(sizing.estimate.totalBytes).toBeLessThanOrEqual(offer.memoryBytes)
        expect(contextTokens).toBeGreaterThanOrEqual(
          Math.max(least.contextTokens, minimums.contextTokens ?? 0),
        )
        expect(parallelSequences).toBeGreaterThanOrEqual(
          Math.max(least.parallelSequences, minimums.parallelSequences ?? 0),
        )
        expect(contextTokens).toBeLessThanOrEqual(
          Math.min(model.variant.contextLength, ceilings.contextTokens ?? Infinity),
        )
        expect(parallelSequences).toBeLessThanOrEqual(ceilings.parallelSequences)
        if (model.variant.architecture === null) return
        if (sizing.limitedBy.sequences === 'memory')
          expect(total(contextTokens, parallelSequences + 1)).toBeGreaterThan(offer.memoryBytes)
        if (sizing.limitedBy.context === 'memory') {
          expect(total(contextTokens + 1024, least.parallelSequences)).toBeGreaterThan(offer.memoryBytes)
        }
      },
    ),
  )
})
