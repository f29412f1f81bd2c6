import { expect, test } from 'vitest'
import type { GpuVendor, InstanceOffer, ModelVariant } from '../../ports/model-runtime.ts'
import { findGpuCaveat, findGpuObjection } from './gpu-requirements.ts'

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
  }
}

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
])('%s needs compute capability %d of an NVIDIA GPU', (format, capability) => {
  const judge = (each: number) => findGpuObjection(makeVariant(format), makeOffer('nvidia', each))
  expect(judge(capability)).toBeNull()
  expect(judge(10)).toBeNull()
  expect(judge(6.1)).toBe(`compute capability 6.1, ${format} needs ${capability.toFixed(1)}`)
})

test('mlx runs on Apple’s GPUs alone', () => {
  const judge = (vendor: GpuVendor | null, gpuCount = 1) =>
    findGpuObjection(makeVariant('mlx'), makeOffer(vendor, null, gpuCount))
  expect(judge('apple')).toBeNull()
  for (const vendor of ['nvidia', 'amd', null] as const)
    expect(judge(vendor)).toBe('mlx needs a GPU of Apple')
  expect(judge(null, 0)).toBe('mlx needs a GPU of Apple')
})

test.each(['fp8', 'awq', 'gptq', 'bnb', 'fp4'])('%s needs a GPU of NVIDIA or AMD', (format) => {
  const judge = (vendor: GpuVendor | null, gpuCount = 1) =>
    findGpuObjection(makeVariant(format), makeOffer(vendor, null, gpuCount))
  expect(judge('amd')).toBeNull()
  expect(judge(null), 'a GPU that nothing is known about').toBeNull()
  expect(judge('apple')).toBe(`${format} needs a GPU of NVIDIA or AMD`)
  expect(judge(null, 0)).toBe(`${format} needs a GPU of NVIDIA or AMD`)
})

test('attention heads are divided evenly over 1, 2, 4 or 8 GPUs', () => {
  const judge = (gpuCount: number, heads: number, format = 'pytorch') =>
    findGpuObjection(makeVariant(format, heads), makeOffer('nvidia', 9, gpuCount))
  for (const count of [1, 2, 4, 8]) expect(judge(count, 32)).toBeNull()
  for (const count of [3, 5, 6, 7, 16]) expect(judge(count, 96)).toMatch(/it can be split over 1, 2, 4 or 8$/)
  expect(judge(2, 14)).toBeNull()
  expect(judge(4, 14)).toBe('14 attention heads can’t be split over 4 GPUs'.replace('’', "'"))
  expect(
    findGpuObjection({ ...makeVariant('pytorch'), architecture: null }, makeOffer('nvidia', 9, 8)),
  ).toBeNull()
})

test('ggufv2 runs on anything: llama.cpp splits a model by layers', () => {
  for (const offer of [makeOffer(null, null, 0), makeOffer('nvidia', 6.1, 3), makeOffer('apple', null)]) {
    expect(findGpuObjection(makeVariant('ggufv2', 14), offer)).toBeNull()
    expect(findGpuCaveat('ggufv2', offer)).toBeNull()
  }
})

test('an older GPU runs fp8 and bf16 in another way', () => {
  expect(findGpuCaveat('fp8', makeOffer('nvidia', 8.6))).toBe('fp8 is of the weights alone')
  expect(findGpuCaveat('fp8', makeOffer('nvidia', 8.9))).toBeNull()
  expect(findGpuCaveat('pytorch', makeOffer('nvidia', 7.5))).toBe('bf16 runs as fp16')
  expect(findGpuCaveat('pytorch', makeOffer('nvidia', 8))).toBeNull()
  expect(findGpuCaveat('fp8', makeOffer('amd', null))).toBeNull()
})
