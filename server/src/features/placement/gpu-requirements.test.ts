import { expect, test } from 'vitest'
import type { GpuVendor, InstanceOffer } from '../../ports/model-runtime.ts'
import type { ModelVariant } from '../../ports/model-variant.ts'
import { serve } from '../../../test/support/engines.ts'
import { nameFormat } from '../../base/format-names.ts'
import { findGpuCaveat, findGpuIncompatibility } from './gpu-requirements.ts'

function makeVariant(format: string, attentionHeads = 32): ModelVariant {
  return {
    modelName: 'model',
    modelType: 'LLM',
    format,
    sizeInBillions: 1,
    quantization: 'none',
    contextLength: 4096,
    architecture: {
      parameters: 1e9,
      layers: 1,
      attentionHeads,
      kvHeads: 2,
      headDimension: 64,
      hiddenSize: 896,
      vocabularySize: 1,
    },
    weightBytes: null,
    weights: { kind: 'file', path: '/model' },
    engines: {},
  }
}

const findIncompatibility = (variant: ModelVariant, offer: InstanceOffer) =>
  findGpuIncompatibility(serve(variant), offer)

function makeOffer(vendor: GpuVendor | null, computeCapability: number | null, gpuCount = 1): InstanceOffer {
  const facts = { instanceType: 'i', region: 'r', gpuModel: null, memoryBytes: 1, formats: [] }
  return { ...facts, vendor, computeCapability, gpuCount }
}

test.each([
  ['fp8', 7.5],
  ['awq', 7.5],
  ['gptq', 7],
  ['bnb', 7],
  ['fp4', 8],
  ['pytorch', 7],
])('%s requires compute capability %d on NVIDIA GPUs', (format, capability) => {
  const judge = (each: number) => findIncompatibility(makeVariant(format), makeOffer('nvidia', each))
  expect(judge(capability)).toBeNull()
  expect(judge(10)).toBeNull()
  expect(judge(6.1)).toBe(
    `${nameFormat(format)} requires compute capability ${capability.toFixed(1)}, this GPU has 6.1`,
  )
})

test('mlx runs only on Apple GPUs', () => {
  const judge = (vendor: GpuVendor | null, gpuCount = 1) =>
    findIncompatibility(makeVariant('mlx'), makeOffer(vendor, null, gpuCount))
  expect(judge('apple')).toBeNull()
  for (const vendor of ['nvidia', 'amd', null] as const)
    expect(judge(vendor)).toBe('MLX requires an Apple GPU')
  expect(judge(null, 0)).toBe('MLX requires an Apple GPU')
})

test.each(['fp8', 'awq', 'gptq', 'bnb', 'fp4'])('%s requires an NVIDIA or AMD GPU', (format) => {
  const judge = (vendor: GpuVendor | null, gpuCount = 1) =>
    findIncompatibility(makeVariant(format), makeOffer(vendor, null, gpuCount))
  expect(judge('amd')).toBeNull()
  expect(judge(null), 'an unknown GPU').toBeNull()
  expect(judge('apple')).toBe(`${nameFormat(format)} requires an NVIDIA or AMD GPU`)
  expect(judge(null, 0)).toBe(`${nameFormat(format)} requires an NVIDIA or AMD GPU`)
})

test('attention heads must divide evenly over 1, 2, 4 or 8 GPUs', () => {
  const judge = (gpuCount: number, heads: number, format = 'pytorch') =>
    findIncompatibility(makeVariant(format, heads), makeOffer('nvidia', 9, gpuCount))
  for (const count of [1, 2, 4, 8]) expect(judge(count, 32)).toBeNull()
  for (const count of [3, 5, 6, 7, 16]) expect(judge(count, 96)).toMatch(/a model can use 1, 2, 4 or 8$/)
  expect(judge(2, 14)).toBeNull()
  expect(judge(4, 14)).toBe('14 attention heads can’t be split over 4 GPUs'.replace('’', "'"))
  expect(
    findIncompatibility({ ...makeVariant('pytorch'), architecture: null }, makeOffer('nvidia', 9, 8)),
  ).toBeNull()
})

test('ggufv2 runs on any offer: llama.cpp splits a model by layers', () => {
  for (const offer of [makeOffer(null, null, 0), makeOffer('nvidia', 6.1, 3), makeOffer('apple', null)]) {
    expect(findIncompatibility(makeVariant('ggufv2', 14), offer)).toBeNull()
    expect(findGpuCaveat('ggufv2', offer)).toBeNull()
  }
})

test('an older GPU runs fp8 and bf16 with a caveat', () => {
  expect(findGpuCaveat('fp8', makeOffer('nvidia', 8.6))).toBe('fp8 applies to the weights only')
  expect(findGpuCaveat('fp8', makeOffer('nvidia', 8.9))).toBeNull()
  expect(findGpuCaveat('pytorch', makeOffer('nvidia', 7.5))).toBe('bf16 runs as fp16')
  expect(findGpuCaveat('pytorch', makeOffer('nvidia', 8))).toBeNull()
  expect(findGpuCaveat('fp8', makeOffer('amd', null))).toBeNull()
})
