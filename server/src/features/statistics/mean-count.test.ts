import { expect, test } from 'vitest'
import { meanCount } from './mean-count.ts'

const at = (second: number) => new Date(second * 1_000)
const mean = (...spans: [number, number | null][]) =>
  meanCount(
    spans.map(([startedAt, endedAt]) => ({
      startedAt: at(startedAt),
      endedAt: endedAt === null ? null : at(endedAt),
    })),
    60_000,
    120_000,
  )

test('an instance counts for the share of the time in which it was held', () => {
  expect(mean()).toBe(0)
  expect(mean([0, null])).toBe(1)
  expect(mean([0, 200])).toBe(1)
  expect(mean([90, null])).toBe(0.5)
  expect(mean([0, 75])).toBe(0.25)
  expect(mean([70, 100])).toBe(0.5)
  expect(mean([0, 60], [120, null], [130, 140])).toBe(0)
  expect(mean([0, null], [90, null], [75, 105])).toBe(2)
})
