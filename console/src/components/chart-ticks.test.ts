import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findFirstLabel, listTicks } from './chart-ticks.ts'

test('ticks are round numbers from 0 to the maximum or the next round number', () => {
  expect(listTicks(4)).toEqual([0, 1, 2, 3, 4])
  expect(listTicks(0.0123)).toEqual([0, 0.005, 0.01, 0.015])
  expect(listTicks(930)).toEqual([0, 250, 500, 750, 1_000])
  expect(listTicks(0.3)).toEqual([0, 0.1, 0.2, 0.3])
  expect(listTicks(0)).toEqual([0, 1])
})

test('ticks of counts are whole', () => {
  expect(listTicks(1, true)).toEqual([0, 1])
  expect(listTicks(9, true)).toEqual([0, 3, 6, 9])
})

test('any maximum: two to five ticks, the last one not below the maximum', () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-9, max: 1e12, noNaN: true }), fc.boolean(), (max, whole) => {
      const ticks = listTicks(max, whole)
      expect(ticks.length).toBeGreaterThanOrEqual(2)
      expect(ticks.length).toBeLessThanOrEqual(5)
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(max * (1 - 1e-6))
    }),
  )
})

test('labels of times begin at a round one', () => {
  const list = (count: number, minutes: number) =>
    Array.from({ length: count }, (_, index) => new Date(2026, 0, 31, 5, 27 + index * minutes).toISOString())
  // 5:30, 5:40, …
  expect(findFirstLabel(list(60, 1), 10)).toBe(3)
  // 5:27, 5:30, …
  expect(findFirstLabel(list(15, 1), 3)).toBe(0)
  expect(findFirstLabel(list(96, 15), 16)).toBe(0)
  expect(findFirstLabel([], 1)).toBe(0)
})
