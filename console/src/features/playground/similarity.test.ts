import { expect, it } from 'vitest'
import { compareVectors, summarize } from './similarity.ts'

it('compares every pair', () => {
  const matrix = compareVectors([
    [1, 0],
    [2, 0],
    [0, 3],
    [-1, 0],
    [0, 0],
  ])
  expect(matrix[0]).toEqual([1, 1, 0, -1, 0])
  expect(summarize(matrix)).toEqual({ pair: [0, 1], max: 1, min: -1 })
  expect(summarize(compareVectors([[1]]))).toBeNull()
})
