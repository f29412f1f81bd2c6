import { setTimeout as delay } from 'node:timers/promises'
import { toHost } from './cluster.ts'
import * as schemas from './response-schemas.ts'
import type { ModelInstance, Supervisor } from './supervisor.ts'

const pollMilliseconds = 1_000
/** So old a list says nothing anymore. */
const maxAgeMilliseconds = 3_000
/** A supervisor that has lost more models at once has restarted. It doesn't get a request for each. */
const maxLosses = 100

/**
 * The models of one cluster that serve. Three requests a second list them, however many models there are.
 * Questions about other models go to the supervisor itself. The first question starts the requests.
 */
export class ListedModels {
  readonly #supervisor: Supervisor
  readonly #closing = new AbortController()
  readonly #listeners = new Set<(uid: string) => void>()
  #list: { models: ReadonlyMap<string, ModelInstance>; readAt: number } | null = null
  #isPolling = false
  /** The most failed health checks that a worker had left. A worker that has fewer failed its last one. */
  #mostChances = 0

  constructor(supervisor: Supervisor) {
    this.#supervisor = supervisor
  }

  /** The instance of a model that serves; null if it doesn't, or if the list doesn't know. */
  find(uid: string): ModelInstance | null {
    if (!this.#isPolling) void this.#poll()
    if (this.#list === null || performance.now() - this.#list.readAt > maxAgeMilliseconds) return null
    return this.#list.models.get(uid) ?? null
  }

  /** Calls `listener` with the uid of each model that served and doesn't anymore. */
  onLost(listener: (uid: string) => void): void {
    this.#listeners.add(listener)
  }

  close(): void {
    this.#closing.abort()
  }

  async #poll(): Promise<void> {
    this.#isPolling = true
    const { signal } = this.#closing
    while (!signal.aborted) {
      await this.#read()
      await delay(pollMilliseconds, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  async #read(): Promise<void> {
    const readAt = performance.now()
    try {
      const models = await this.#listServed()
      const lost = [...(this.#list?.models.keys() ?? [])].filter((uid) => !models.has(uid))
      this.#list = { models, readAt }
      if (lost.length > maxLosses) return
      for (const uid of lost) for (const listener of this.#listeners) listener(uid)
    } catch {
      // Each check asks the supervisor itself then, and reports its error.
    }
  }

  /** The models whose instance is READY on a worker that has passed its last health check. */
  async #listServed(): Promise<Map<string, ModelInstance>> {
    const supervisor = this.#supervisor
    const [status, models, instances] = await Promise.all([
      supervisor.get('/status', schemas.status),
      supervisor.get('/v1/models', schemas.models),
      supervisor.listInstances(),
    ])
    const workers = Object.entries(status.workers)
    const chances = workers.map(([, worker]) => worker.failure_remaining_count ?? 0)
    this.#mostChances = Math.max(this.#mostChances, ...chances)
    // A worker that is dead keeps its models in the list for some health checks.
    const healthy = new Set(
      workers
        .filter(([, worker]) => (worker.failure_remaining_count ?? this.#mostChances) === this.#mostChances)
        .map(([address]) => toHost(address)),
    )
    const listed = new Set(
      models.data.filter(({ address }) => healthy.has(toHost(address ?? ''))).map(({ id }) => id),
    )
    return new Map(
      instances
        .filter((instance) => instance.status === 'READY' && listed.has(instance.uid))
        .map((instance) => [instance.uid, instance]),
    )
  }
}
