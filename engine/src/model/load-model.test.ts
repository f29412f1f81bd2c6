import { expect, test } from 'vitest'
import { describeModel } from './load-model.ts'

test('a size that llama.cpp does not know is left out', () => {
  expect(describeModel({ typeDescription: 'llama ?B Q8_0' })).toBe('llama Q8_0')
  expect(describeModel({ typeDescription: 'qwen3 8B Q4_K - Medium' })).toBe('qwen3 8B Q4_K - Medium')
})
