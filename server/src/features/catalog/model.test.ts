import { expect, test } from 'vitest'
import { findVariant, listVariants } from './model.ts'
import type { CatalogModel, CatalogVariant } from './model.ts'

const variants = [
  makeVariant('pytorch', 0.5, 'none'),
  makeVariant('ggufv2', 0.5, 'Q8_0'),
  makeVariant('ggufv2', 0.5, 'Q4_K_M'),
  makeVariant('gptq', 1.5, 'Int4'),
  makeVariant('gptq', 1.5, 'Int8'),
  makeVariant('ggufv2', 1.5, 'Q8_0'),
  makeVariant('awq', 7, 'Int4'),
]

const model: CatalogModel = {
  id: 'some-model',
  source: { kind: 'catalog' },
  modelName: 'some-model',
  displayName: 'Some Model',
  provider: 'Somebody',
  family: 'some',
  modelType: 'LLM',
  description: 'Does something.',
  license: 'mit',
  tags: [],
  suggestedPrompts: [],
  enabled: true,
  sortOrder: 1,
  variants,
  default: variants[2]!,
}

function makeVariant(format: string, sizeInBillions: number, quantization: string): CatalogVariant {
  return {
    modelName: 'some-model',
    modelType: 'LLM',
    format,
    sizeInBillions,
    quantization,
    contextLength: 4096,
    architecture: null,
    weightBytes: null,
    weights: { kind: 'file', path: '/weights' },
    engines: {},
    gated: false,
  }
}

function choose(choice: Parameters<typeof findVariant>[1]) {
  const variant = findVariant(model, choice)
  return variant && `${variant.format} ${variant.sizeInBillions} ${variant.quantization}`
}

test('an empty choice gives the default', () => {
  expect(findVariant(model)).toBe(model.default)
  expect(choose({})).toBe('ggufv2 0.5 Q4_K_M')
})

test('omitted fields prefer the default’s size, format and quantization', () => {
  expect(choose({ quantization: 'Q8_0' })).toBe('ggufv2 0.5 Q8_0')
  expect(choose({ format: 'pytorch' })).toBe('pytorch 0.5 none')
  expect(choose({ sizeInBillions: 1.5 })).toBe('ggufv2 1.5 Q8_0')
  expect(choose({ sizeInBillions: 7 })).toBe('awq 7 Int4')
  expect(choose({ format: 'gptq' })).toBe('gptq 1.5 Int4')
  expect(choose({ quantization: 'int4' })).toBe('gptq 1.5 Int4')
})

test('names are compared case-insensitively', () => {
  expect(choose({ format: 'GGUFv2', quantization: 'q8_0', sizeInBillions: 1.5 })).toBe('ggufv2 1.5 Q8_0')
})

test('no variant matches a choice that contradicts all of them', () => {
  expect(choose({ sizeInBillions: 3 })).toBeNull()
  expect(choose({ format: 'awq', sizeInBillions: 0.5 })).toBeNull()
  expect(choose({ format: 'ggufv2', quantization: 'Q4_K_M', sizeInBillions: 1.5 })).toBeNull()
  expect(choose({ quantization: '' })).toBeNull()
})

test('the listing has one row for each format and size', () => {
  expect(listVariants(model).slice(0, 3)).toEqual([
    { model_format: 'pytorch', model_size_in_billions: 0.5, quantizations: ['none'], default: false },
    { model_format: 'ggufv2', model_size_in_billions: 0.5, quantizations: ['Q8_0', 'Q4_K_M'], default: true },
    { model_format: 'gptq', model_size_in_billions: 1.5, quantizations: ['Int4', 'Int8'], default: false },
  ])
})
