import cluster from 'node:cluster'
import type { Worker } from 'node:cluster'
import { AggregatorRegistry } from 'prom-client'
import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client'

type Measured = MetricObjectWithValues<MetricValue<string>>[]

/** What processes that share a port tell the one that started them, and it them, of their metrics. */
type Message =
  | { kind: 'metrics wanted'; id: number }
  | { kind: 'measure'; id: number }
  | { kind: 'measured'; id: number; metrics: Measured }
  | { kind: 'metrics'; id: number; text: string }

/** A process that does not answer in time is left out. */
const patienceMilliseconds = 1_000

/**
 * Reads a process's metrics in Prometheus's text format; where several share a port, those of all, whoever is asked, each with
 * the label `process`, so that counters of one that is replaced don't make sums go down.
 */
export function openMetrics(registry: Registry): () => Promise<string> {
  const { worker } = cluster
  if (worker === undefined) return () => registry.metrics()
  registry.setDefaultLabels({ process: String(worker.id) })
  const waiting = new Map<number, (text: string) => void>()
  let last = 0
  const send = (message: Message) => worker.isConnected() && worker.send(message)
  worker.on('message', (message: Message) => {
    if (message.kind === 'metrics') waiting.get(message.id)?.(message.text)
    if (message.kind !== 'measure') return
    const { id } = message
    void registry
      .getMetricsAsJSON()
      .then((metrics) => send({ kind: 'measured', id, metrics: metrics as unknown as Measured }))
  })
  return async () => {
    const id = ++last
    const { promise, resolve } = Promise.withResolvers<string>()
    waiting.set(id, resolve)
    send({ kind: 'metrics wanted', id })
    const overdue = setTimeout(() => resolve(''), 2 * patienceMilliseconds)
    try {
      // This process's own are better than none.
      return (await promise) || (await registry.metrics())
    } finally {
      clearTimeout(overdue)
      waiting.delete(id)
    }
  }
}

/** In the process that started the others: joins their metrics whenever one of them is asked. */
export function joinMetrics(): void {
  const collections = new Map<number, { answers: Map<number, Measured>; wanted: number; done(): void }>()
  let last = 0

  async function collect(): Promise<string> {
    const processes = Object.values(cluster.workers ?? {}).filter((each) => each?.isConnected())
    const id = ++last
    const { promise, resolve: done } = Promise.withResolvers<void>()
    const answers = new Map<number, Measured>()
    collections.set(id, { answers, wanted: processes.length, done })
    const overdue = setTimeout(done, patienceMilliseconds)
    for (const each of processes) each?.send({ kind: 'measure', id } satisfies Message)
    await promise
    clearTimeout(overdue)
    collections.delete(id)
    return AggregatorRegistry.aggregate([...answers.values()]).metrics()
  }

  async function answer(worker: Worker, id: number): Promise<void> {
    const text = await collect()
    if (worker.isConnected()) worker.send({ kind: 'metrics', id, text } satisfies Message)
  }

  cluster.on('message', (worker: Worker, message: Message) => {
    if (message.kind === 'measured') {
      const collection = collections.get(message.id)
      if (collection === undefined) return
      collection.answers.set(worker.id, message.metrics)
      if (collection.answers.size === collection.wanted) collection.done()
    }
    if (message.kind === 'metrics wanted') {
      void answer(worker, message.id)
    }
  })
}
