import { expect, test } from 'vitest'
import { describeCapacity, limitCapacity, shrinkCapacity } from './shrink-capacity.ts'

const shrink = (
  [contextTokens, parallelSequences]: [number, number],
  [leastContext, fewest]: [number | null, number | null] = [null, null],
) => {
  const shrunk = shrinkCapacity(
    { contextTokens, parallelSequences },
    { contextTokens: leastContext, parallelSequences: fewest },
  )
  return shrunk === null ? null : [shrunk.contextTokens, shrunk.parallelSequences]
}

test('sequences are given up first, then the context, in halves and within the minimums', () => {
  expect(shrink([32_768, 7])).toEqual([32_768, 3])
  expect(shrink([32_768, 3])).toEqual([32_768, 1])
  expect(shrink([32_768, 1])).toEqual([16_384, 1])
  expect(shrink([5_000, 1])).toEqual([2_048, 1])
  expect(shrink([2_048, 1])).toBeNull()
  expect(shrink([512, 1])).toBeNull()
  expect(shrink([32_768, 8], [32_768, 6])).toEqual([32_768, 6])
  expect(shrink([32_768, 6], [20_000, 6])).toEqual([20_000, 6])
  expect(shrink([32_768, 6], [32_768, 6])).toBeNull()
})

test('a limit stays until the owner asks for more', () => {
  const [full, most] = [
    { contextTokens: 8192, parallelSequences: 4 },
    { contextTokens: 4096, parallelSequences: 1 },
  ]
  const none = { contextTokens: null, parallelSequences: null }
  expect(limitCapacity(full, null, none)).toEqual(full)
  expect(limitCapacity(full, most, none)).toEqual(most)
  expect(limitCapacity(full, most, { contextTokens: 8000, parallelSequences: 2 })).toEqual({
    contextTokens: 8000,
    parallelSequences: 2,
  })
})

test('the sentence names both numbers', () => {
  expect(describeCapacity({ contextTokens: 4096, parallelSequences: 1 })).toBe(
    'To need less memory, the next start takes one request at a time, of up to 4096 tokens.',
  )
})
