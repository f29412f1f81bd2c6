import { expect, test } from 'vitest'
import { limitThreads } from './load-model.ts'

test('a small model gets fewer threads than the settings allow', () => {
  const mebibyte = 2 ** 20
  expect(limitThreads(8, 2 * mebibyte)).toBe(1)
  expect(limitThreads(8, 100 * mebibyte)).toBe(3)
  expect(limitThreads(8, 500 * mebibyte)).toBe(8)
  expect(limitThreads(1, 500 * mebibyte)).toBe(1)
})
