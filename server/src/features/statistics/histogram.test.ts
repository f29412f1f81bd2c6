import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addBuckets, createHistogram, findQuantile, recordDuration, toBuckets } from './histogram.ts'

function histogramOf(durations: readonly number[]) {
  const histogram = createHistogram()
  for (const duration of durations) recordDuration(histogram, duration)
  return histogram
}

describe('findQuantile', () => {
  test('returns null for an empty histogram', () => {
    expect(findQuantile(createHistogram(), 0.5)).toBeNull()
  })

  test('is within 4 % of the exact quantile', () => {
    const durations = fc.array(fc.double({ min: 0.1, max: 7_200_000, noNaN: true }), { minLength: 1 })
    fc.assert(
      fc.property(durations, fc.double({ min: 0, max: 1, noNaN: true }), (list, fraction) => {
        const sorted = list.toSorted((one, other) => one - other)
        const exact = sorted[Math.max(1, Math.ceil(fraction * sorted.length)) - 1]!
        // 4 %, plus half a percent for rounding to three digits.
        expect(Math.abs(findQuantile(histogramOf(list), fraction)! - exact) / exact).toBeLessThanOrEqual(
          0.0451,
        )
      }),
      { numRuns: 500 },
    )
  })

  test('the slowest of 2 to 99 durations is their 99th percentile', () => {
    for (const count of [2, 11, 99]) {
      const durations = [...Array<number>(count - 1).fill(80), 2_700]
      expect(findQuantile(histogramOf(durations), 0.99)).toBeGreaterThan(2_500)
    }
  })

  test.each([0, -1, 0.01, 1e300, Infinity])('counts %d at the nearer end of the scale', (value) => {
    const found = findQuantile(histogramOf([value]), 0.99)!
    expect(found).toBeCloseTo(value < 1 ? 0.1 : 7_200_000, value < 1 ? 1 : -6)
  })
})

test('adding stored histograms gives the histogram of all durations', () => {
  const durations = fc.array(fc.double({ min: 0, max: 1e7, noNaN: true }))
  fc.assert(
    fc.property(durations, durations, (some, others) => {
      const sum = createHistogram()
      for (const part of [some, others])
        addBuckets(sum, JSON.parse(JSON.stringify(toBuckets(histogramOf(part)))))
      expect(sum).toEqual(histogramOf([...some, ...others]))
    }),
  )
})

test('unknown buckets are ignored', () => {
  const histogram = createHistogram()
  addBuckets(histogram, { 3: 2, 100_000: 5 })
  expect(toBuckets(histogram)).toEqual({ 3: 2 })
})
