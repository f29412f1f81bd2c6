import cluster from 'node:cluster'
import type { Worker } from 'node:cluster'
import { AggregatorRegistry } from 'prom-client'
import type { PrometheusContentType, Registry } from 'prom-client'

/** A process's request to its supervisor, and the response, besides prom-client's own messages */
type Message = { kind: 'read metrics' } | { kind: 'metrics'; text: string | null }

/** Creates the registry of this process. In a cluster, the supervisor collects it. */
export function createRegistry(): Registry {
  const registry = new AggregatorRegistry<PrometheusContentType>()
  AggregatorRegistry.setRegistries(registry)
  const { worker } = cluster
  // Counters of a restarted process begin at zero: without the label, sums would go down.
  if (worker !== undefined) registry.setDefaultLabels({ process: String(worker.id) })
  return registry
}

/** Reads the metrics of all processes, or only its own if one misses prom-client's deadline of 5 s. */
export function openMetrics(registry: Registry): () => Promise<string> {
  const { worker } = cluster
  if (worker === undefined) return () => registry.metrics()
  let pending: PromiseWithResolvers<string | null> | null = null
  worker.on('message', (message: Message) => {
    if (message.kind !== 'metrics') return
    pending?.resolve(message.text)
    pending = null
  })
  return async () => {
    if (!worker.isConnected()) return registry.metrics()
    if (pending === null) {
      pending = Promise.withResolvers()
      worker.send({ kind: 'read metrics' } satisfies Message)
    }
    return (await pending.promise) ?? (await registry.metrics())
  }
}

/** In the supervisor: collects the metrics of all processes whenever one of them asks. */
export function serveClusterMetrics(): void {
  const registry = new AggregatorRegistry<PrometheusContentType>()

  async function respond(worker: Worker): Promise<void> {
    const text = await registry.clusterMetrics().catch(() => null)
    if (worker.isConnected()) worker.send({ kind: 'metrics', text } satisfies Message)
  }

  cluster.on('message', (worker: Worker, { kind }: Message) => {
    if (kind === 'read metrics') void respond(worker)
  })
}
