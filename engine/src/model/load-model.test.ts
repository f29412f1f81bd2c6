import { expect, test } from 'vitest'
import { describeModel, limitThreads } from './load-model.ts'

test('a size that llama.cpp does not know is left out', () => {
  expect(describeModel({ typeDescription: 'llama ?B Q8_0' })).toBe('llama Q8_0')
  expect(describeModel({ typeDescription: 'qwen3 8B Q4_K - Medium' })).toBe('qwen3 8B Q4_K - Medium')
})

test('a small model gets fewer threads than the settings allow', () => {
  const mebibyte = 2 ** 20
  expect(limitThreads(8, 2 * mebibyte)).toBe(1)
  expect(limitThreads(8, 100 * mebibyte)).toBe(3)
  expect(limitThreads(8, 500 * mebibyte)).toBe(8)
  expect(limitThreads(1, 500 * mebibyte)).toBe(1)
})
