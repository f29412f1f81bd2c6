/**
 * Logarithmic histograms of durations. They can be added; quantiles stay accurate to 4 %. As in DDSketch
 * (Masson, Rim, Lee: "DDSketch: A Fast and Fully-Mergeable Quantile Sketch with Relative-Error Guarantees",
 * VLDB 2019), bucket i counts values in (γ^(i-1), γ^i], with γ = (1 + α) / (1 - α).
 */

const accuracy = 0.04
const gamma = (1 + accuracy) / (1 - accuracy)
const perLogarithm = 1 / Math.log(gamma)
/** Milliseconds; shorter durations count as this */
const shortest = 0.1
/** Milliseconds; longer durations count as this */
const longest = 2 * 3_600_000

const bucketCount = toIndex(longest) + 1

/** The count of each bucket. */
export type Histogram = Uint32Array

/** The stored form: non-empty buckets by index. */
export type Buckets = Record<string, number>

export function createHistogram(): Histogram {
  return new Uint32Array(bucketCount)
}

/** Adds a duration in milliseconds. */
export function recordDuration(histogram: Histogram, milliseconds: number): void {
  histogram[toIndex(Math.min(Math.max(milliseconds, shortest), longest))]! += 1
}

export function toBuckets(histogram: Histogram): Buckets {
  return Object.fromEntries([...histogram.entries()].filter(([, number]) => number > 0))
}

export function addBuckets(histogram: Histogram, buckets: Buckets): void {
  for (const [index, number] of Object.entries(buckets)) {
    if (Number(index) < bucketCount) histogram[Number(index)]! += number
  }
}

/** The quantile at `fraction` (0 to 1) by nearest rank, in ms with three digits; null for no values. */
export function findQuantile(histogram: Histogram, fraction: number): number | null {
  const total = histogram.reduce((sum, number) => sum + number, 0)
  if (total === 0) return null
  const rank = Math.max(1, Math.ceil(fraction * total))
  let through = 0
  const index = histogram.findIndex((number) => (through += number) >= rank)
  const middle = (shortest * 2 * gamma ** index) / (gamma + 1)
  return Number(middle.toPrecision(3))
}

/** Requires a duration of at least `shortest`. */
function toIndex(milliseconds: number): number {
  return Math.ceil(Math.log(milliseconds / shortest) * perLogarithm)
}
