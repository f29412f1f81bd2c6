import type { Metric, Registry } from 'prom-client'

interface Naming {
  name: string
  help: string
}

/** Labels of one series, and what is counted under them. */
interface Series {
  labels: Record<string, string | number>
  /** How many values were up to each bound and above the one before; the last ones were above all */
  counts: Float64Array
  sum: number
}

/**
 * Registers a histogram whose series are looked up once and counted into often: prom-client’s own looks each value’s labels up anew,
 * which costs more than all else that is counted of a request. Returns what makes a series, to be kept by its maker.
 */
export function createTallyHistogram(
  registry: Registry,
  { name, help, buckets }: Naming & { buckets: readonly number[] },
): (labels: Series['labels']) => (value: number) => void {
  const all: Series[] = []
  const get = async () => ({
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    values: all.flatMap((series) => toValues(name, buckets, series)),
  })
  registry.registerMetric({ name, help, get, reset: () => all.forEach(empty) } as unknown as Metric)
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

/** As `createTallyHistogram`, for a counter. */
export function createTallyCounter(
  registry: Registry,
  { name, help }: Naming,
): (labels: Series['labels']) => (increase: number) => void {
  const all: Series[] = []
  const get = async () => ({
    name,
    help,
    type: 'counter',
    aggregator: 'sum',
    values: all.map(({ labels, sum }) => ({ labels, value: sum })),
  })
  registry.registerMetric({ name, help, get, reset: () => all.forEach(empty) } as unknown as Metric)
  return (labels) => {
    const series: Series = { labels, counts: none, sum: 0 }
    all.push(series)
    return (increase) => {
      series.sum += increase
    }
  }
}

const none = new Float64Array(0)

function empty(series: Series): void {
  series.counts.fill(0)
  series.sum = 0
}

function toValues(name: string, buckets: readonly number[], { labels, counts, sum }: Series) {
  let through = 0
  const values = [...buckets, '+Inf'].map((bound, index) => {
    through += counts[index]!
    return { labels: { ...labels, le: bound }, value: through, metricName: `${name}_bucket` }
  })
  return [
    ...values,
    { labels, value: sum, metricName: `${name}_sum` },
    { labels, value: through, metricName: `${name}_count` },
  ]
}
