import { expect, test } from 'vitest'
import { isTooDeep } from './json-depth.ts'

test('detects deep nesting without a stack overflow', () => {
  const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth))
  expect(isTooDeep(nested(50))).toBe(false)
  expect(isTooDeep(nested(10_000))).toBe(true)
})
