import { Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import { settlesWithin } from '../../database/settles-within.ts'

const patienceMilliseconds = 2_000
/** Gauges that are read together share one reading. */
const freshMilliseconds = 5_000

/** A reading for the gauges of a scrape; null if it fails or is slow, because `/metrics` must respond. */
export function shareReading<Reading>(read: () => Promise<Reading>): () => Promise<Reading | null> {
  let reading: Promise<Reading | null> = Promise.resolve(null)
  let readAt = -Infinity
  return () => {
    if (performance.now() - readAt > freshMilliseconds) {
      readAt = performance.now()
      reading = readInTime(read)
    }
    return reading
  }
}

async function readInTime<Reading>(read: () => Promise<Reading>): Promise<Reading | null> {
  const reading = read().catch(() => null)
  return (await settlesWithin(reading, patienceMilliseconds)) ? reading : null
}

/** Registers a gauge that each scrape fills from a reading. Without a reading it is absent. */
export function addGauge<Reading, Label extends string>(
  register: Registry,
  read: () => Promise<Reading | null>,
  { name, help, labelNames }: { name: string; help: string; labelNames: readonly Label[] },
  fill: (gauge: Gauge<Label>, reading: Reading) => void,
): void {
  register.registerMetric(
    new Gauge<Label>({
      name,
      help,
      labelNames,
      registers: [],
      async collect() {
        const reading = await read()
        this.reset()
        // A reset sets a gauge without labels to 0.
        if (labelNames.length === 0) this.remove()
        if (reading !== null) fill(this, reading)
      },
    }),
  )
}
