/**
 * Durations counted in buckets of logarithmic width, so that histograms of many processes and minutes add up and their quantiles are
 * still right to within 4 %: the mapping of DDSketch (Masson, Rim, Lee: "DDSketch: A Fast and Fully-Mergeable Quantile Sketch with
 * Relative-Error Guarantees", VLDB 2019). Bucket i holds what is over γ^(i-1) and at most γ^i, for γ = (1 + α) / (1 - α).
 */

const accuracy = 0.04
const gamma = (1 + accuracy) / (1 - accuracy)
const perLogarithm = 1 / Math.log(gamma)
/** Milliseconds: what is shorter is not told apart. */
const shortest = 0.1
/** Milliseconds: what is longer is not told apart. */
const longest = 2 * 3_600_000

const bucketCount = toIndex(longest) + 1

/** How many durations fell into each bucket */
export type Histogram = Uint32Array

/** The buckets that hold something, by their numbers; as it is stored. */
export type Buckets = Record<string, number>

export function createHistogram(): Histogram {
  return new Uint32Array(bucketCount)
}

/** Counts a duration in milliseconds. */
export function count(histogram: Histogram, milliseconds: number): void {
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

/** The duration below which a share of all lie, in milliseconds to three digits; null of nothing. */
export function findQuantile(histogram: Histogram, share: number): number | null {
  const total = histogram.reduce((sum, number) => sum + number, 0)
  if (total === 0) return null
  const rank = share * (total - 1)
  let through = 0
  const index = histogram.findIndex((number) => (through += number) > rank)
  const middle = (shortest * 2 * gamma ** index) / (gamma + 1)
  return Number(middle.toPrecision(3))
}

/** Of a duration that is not below the shortest. */
function toIndex(milliseconds: number): number {
  return Math.ceil(Math.log(milliseconds / shortest) * perLogarithm)
}
