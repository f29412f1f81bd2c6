import { expect, test } from 'vitest'
import { engines, makeOffering } from '../../../test/support/engines.ts'
import type { CatalogModel, CatalogVariant, VariantChoice } from '../catalog/model.ts'
import { chooseVariant } from './choose-variant.ts'
import type { PricedOffer } from './offers.ts'
import { noMinimums } from './serving-capacity.ts'

/** Layers, KV heads, hidden size and billions of Qwen3, which has heads of 128 values. */
const shapes = [
  [28, 8, 1024, 0.6],
  [36, 8, 4096, 8],
  [64, 8, 5120, 32],
] as const

const builds = [
  ['ggufv2', 'Q4_K_M'],
  ['ggufv2', 'Q8_0'],
  ['pytorch', 'none'],
  ['gptq', 'Int8'],
  ['awq', 'Int4'],
  ['fp8', 'fp8'],
] as const

const variants = shapes.flatMap(([layers, kvHeads, hiddenSize, sizeInBillions]) =>
  builds.map(([format, quantization]): CatalogVariant => ({
    modelName: 'qwen3',
    modelType: 'LLM',
    format,
    sizeInBillions,
    quantization,
    contextLength: 40_960,
    architecture: {
      parameters: sizeInBillions * 1e9,
      layers,
      attentionHeads: 32,
      kvHeads,
      headDimension: 128,
      hiddenSize,
      vocabularySize: 151_936,
    },
    weightBytes: null,
    weights: { kind: 'file', path: '/weights' },
    engines: {},
    gated: false,
  })),
)

const model: CatalogModel = {
  id: 'qwen3',
  source: { kind: 'catalog' },
  modelName: 'qwen3',
  displayName: 'Qwen3',
  provider: 'Qwen',
  family: 'qwen3',
  modelType: 'LLM',
  description: 'Thinks.',
  license: 'apache-2.0',
  tags: [],
  suggestedPrompts: [],
  enabled: true,
  sortOrder: 1,
  variants,
  default: variants[0]!,
}

const gpu = (instanceType: string, gibibytes: number, computeCapability: number, pricePerHour: string) => ({
  instanceType,
  region: 'r',
  gpuCount: 1,
  gpuModel: instanceType,
  vendor: 'nvidia' as const,
  computeCapability,
  pricePerHour,
  memoryBytes: Math.floor(0.9 * gibibytes * 2 ** 30),
  formats: ['ggufv2', 'pytorch', 'gptq', 'awq', 'fp8'],
  runtime: makeOffering(),
})

const t4 = gpu('t4-x1', 15, 7.5, '0.53')
const a100 = gpu('a100-80gb-x1', 79.6, 8, '3.43')
const h100 = gpu('h100-x1', 79.6, 9, '6.88')
const twoH100s = { ...h100, instanceType: 'h100-x2', gpuCount: 2, memoryBytes: 2 * h100.memoryBytes }
const cpu = { ...gpu('cpu', 256, 0, '0.04'), gpuCount: 0, vendor: null, computeCapability: null }
const withGguf = { formats: ['ggufv2'] }

function choose(offers: readonly PricedOffer[], choice: VariantChoice = {}) {
  const { variant, reason } = chooseVariant(model, choice, offers, {
    ceilings: { contextTokens: null, parallelSequences: 256 },
    minimums: noMinimums,
  })
  return { name: `${variant.format} ${variant.sizeInBillions} ${variant.quantization}`, reason }
}

test('only a name, on GPUs: the largest size that fits the cheapest instance type, for vLLM', () => {
  expect(choose([twoH100s, h100])).toEqual({
    name: 'fp8 32 fp8',
    reason: 'Berth chose 32B FP8, the largest size that vLLM can serve on h100-x1.',
  })
  expect(choose([h100, t4])).toEqual({
    name: 'awq 8 Int4',
    reason: 'Berth chose 8B AWQ Int4, the largest size that vLLM can serve on t4-x1.',
  })
})

test('a size, on GPUs: fp8 where the GPU computes in it, otherwise the original weights', () => {
  expect(choose([h100], { sizeInBillions: 8 })).toEqual({
    name: 'fp8 8 fp8',
    reason: 'Berth chose 8B FP8, the best format for vLLM on h100-x1.',
  })
  expect(choose([a100], { sizeInBillions: 8 }).name).toBe('pytorch 8 none')
  expect(choose([t4], { sizeInBillions: 0.6 }).name).toBe('pytorch 0.6 none')
})

test('the request decides what it names', () => {
  expect(choose([h100], { format: 'GGUFV2' }).name).toBe('ggufv2 32 Q8_0')
  expect(choose([h100], { format: 'awq' }).name).toBe('awq 32 Int4')
  expect(choose([h100], { sizeInBillions: 8, format: 'fp8' })).toEqual({ name: 'fp8 8 fp8', reason: null })
})

test('GPUs whose runtime has only llama.cpp: the largest size of its format', () => {
  const offers = [{ ...h100, ...withGguf, runtime: makeOffering([engines.embedded]) }]
  expect(choose(offers)).toMatchObject({
    name: 'ggufv2 32 Q8_0',
    reason: expect.stringContaining('the largest size that'),
  })
})

test('without its own GPUs an engine gets the default of the catalog', () => {
  const apple = { ...h100, vendor: 'apple' as const, ...withGguf }
  const noOffers: PricedOffer[] = []
  for (const offers of [[{ ...cpu, ...withGguf }], [apple], noOffers]) {
    expect(choose(offers)).toEqual({ name: 'ggufv2 0.6 Q4_K_M', reason: null })
  }
})

test('where nothing fits, the catalog decides, and where a CPU is cheaper for one format, the GPUs still count', () => {
  const tiny: PricedOffer = { ...t4, memoryBytes: 2 ** 29 }
  expect(choose([tiny])).toEqual({ name: 'ggufv2 0.6 Q4_K_M', reason: null })
  expect(choose([{ ...cpu, ...withGguf }, h100]).name).toBe('fp8 32 fp8')
})
