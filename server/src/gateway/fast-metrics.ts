import type { Metric, Registry } from 'prom-client'

interface MetricName {
  name: string
  help: string
}

type Labels = Record<string, string | number>

/** The state of one label combination. */
interface Series {
  labels: Labels
  /** Values per bucket, not cumulative; the last bucket is `+Inf` */
  counts: Float64Array
  sum: number
}

/** Callers keep an `observe` per label set: prom-client's hashing costs more than all other metrics. */
export function createFastHistogram(
  registry: Registry,
  { name, help, buckets }: MetricName & { buckets: readonly number[] },
): (labels: Labels) => (value: number) => void {
  const all: Series[] = []
  const get = async () => ({
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    values: all.flatMap((series) => toHistogramValues(name, buckets, series)),
  })
  registry.registerMetric({ name, help, get, reset: () => all.forEach(resetSeries) } as unknown as Metric)
  return (labels) => {
    const series: Series = { labels, counts: new Float64Array(buckets.length + 1), sum: 0 }
    all.push(series)
    return (value) => {
      let index = 0
      while (index < buckets.length && value > buckets[index]!) index += 1
      series.counts[index]! += 1
      series.sum += value
    }
  }
}

/** Like `createFastHistogram`, for a counter. */
export function createFastCounter(
  registry: Registry,
  { name, help }: MetricName,
): (labels: Labels) => (increase: number) => void {
  const all: Series[] = []
  const get = async () => ({
    name,
    help,
    type: 'counter',
    aggregator: 'sum',
    values: all.map(({ labels, sum }) => ({ labels, value: sum })),
  })
  registry.registerMetric({ name, help, get, reset: () => all.forEach(resetSeries) } as unknown as Metric)
  return (labels) => {
    const series: Series = { labels, counts: noBuckets, sum: 0 }
    all.push(series)
    return (increase) => {
      series.sum += increase
    }
  }
}

const noBuckets = new Float64Array(0)

function resetSeries(series: Series): void {
  series.counts.fill(0)
  series.sum = 0
}

function toHistogramValues(name: string, buckets: readonly number[], { labels, counts, sum }: Series) {
  let cumulative = 0
  const values = [...buckets, '+Inf'].map((bound, index) => {
    cumulative += counts[index]!
    return { labels: { le: bound, ...labels }, value: cumulative, metricName: `${name}_bucket` }
  })
  return [
    ...values,
    { labels, value: sum, metricName: `${name}_sum` },
    { labels, value: cumulative, metricName: `${name}_count` },
  ]
}
