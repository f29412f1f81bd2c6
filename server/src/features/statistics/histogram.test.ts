import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addBuckets, count, createHistogram, findQuantile, toBuckets } from './histogram.ts'

function histogramOf(durations: readonly number[]) {
  const histogram = createHistogram()
  for (const duration of durations) count(histogram, duration)
  return histogram
}

describe('findQuantile', () => {
  test('nothing has none', () => {
    expect(findQuantile(createHistogram(), 0.5)).toBeNull()
  })

  test('is within 4 % of the duration of that rank', () => {
    const durations = fc.array(fc.double({ min: 0.1, max: 7_200_000, noNaN: true }), { minLength: 1 })
    fc.assert(
      fc.property(durations, fc.double({ min: 0, max: 1, noNaN: true }), (list, share) => {
        const sorted = list.toSorted((one, other) => one - other)
        const exact = sorted[Math.floor(share * (sorted.length - 1))]!
        // Half a percent for the rounding to three digits.
        expect(Math.abs(findQuantile(histogramOf(list), share)! - exact) / exact).toBeLessThanOrEqual(0.0451)
      }),
      { numRuns: 500 },
    )
  })

  test.each([0, -1, 0.01, 1e300, Infinity])(
    '%d is counted at the end of the scale that it lies beyond',
    (value) => {
      const found = findQuantile(histogramOf([value]), 0.99)!
      expect(found).toBeCloseTo(value < 1 ? 0.1 : 7_200_000, value < 1 ? 1 : -6)
    },
  )
})

test('histograms that are stored and added up are the histogram of all', () => {
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

test('buckets that this version does not know are passed over', () => {
  const histogram = createHistogram()
  addBuckets(histogram, { 3: 2, 100_000: 5 })
  expect(toBuckets(histogram)).toEqual({ 3: 2 })
})
