import { Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import type { ModelRuntimes } from '../../../ports/model-runtime.ts'

/** Exposes the size and the limit of the weight cache on this process's host, read at each scrape. */
export function measureWeightCache(metrics: Registry, { weightCache }: ModelRuntimes): void {
  if (weightCache === undefined) return
  const help = { bytes: 'Model weights in DATA_DIR/weights', limitBytes: 'Limit of the weight cache' }
  const names = { bytes: 'berth_weight_cache_bytes', limitBytes: 'berth_weight_cache_limit_bytes' }
  for (const value of ['bytes', 'limitBytes'] as const) {
    metrics.registerMetric(
      new Gauge({
        name: names[value],
        help: `${help[value]}, in bytes`,
        registers: [],
        async collect() {
          this.set((await weightCache.measure())[value])
        },
      }),
    )
  }
}
