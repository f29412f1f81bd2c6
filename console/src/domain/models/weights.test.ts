import { expect, test } from 'vitest'
import { areWeightsHere, findModelsHere } from './weights.ts'

const variant = { model_format: 'ggufv2', model_size_in_billions: 8, quantization: 'Q4_K_M' }
const wanted = { ...variant, model_name: 'qwen3', weight_bytes: 1_000 }
const cached = {
  ...variant,
  model_id: '1',
  model_name: 'qwen3',
  bytes: 1_000,
  last_used_at: '2026-01-01T00:00:00Z',
  in_use: false,
}

test.each([
  ['the same variant, complete', cached, true],
  ['a variant that is being downloaded', { ...cached, bytes: 999 }, false],
  ['another quantization', { ...cached, quantization: 'Q8_0' }, false],
  ['another model', { ...cached, model_name: 'qwen4' }, false],
])('%s', (_name, one, isHere) => {
  expect(areWeightsHere([one], wanted)).toBe(isHere)
})

test('a size that nobody knows is not here', () => {
  expect(areWeightsHere([cached], { ...wanted, weight_bytes: null })).toBe(false)
})

test('a model is here with one of its variants', () => {
  const placements = [
    { ...wanted, model_id: '1' },
    { ...wanted, model_id: '1', quantization: 'Q8_0' },
    { ...wanted, model_id: '2', model_name: 'qwen4' },
  ]
  expect(findModelsHere([cached], placements)).toEqual(new Set(['1']))
})
