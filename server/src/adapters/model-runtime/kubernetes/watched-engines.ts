import type { KubernetesObject, V1Deployment, V1Pod } from '@kubernetes/client-node'
import type { Cluster } from './cluster.ts'
import { labels, managedSelector, objectNameOf } from './names.ts'
import { workloadKinds } from './objects.ts'
import type { LeaderWorkerSet } from './objects.ts'
import { evaluateEngine } from './observe.ts'
import type { EngineSnapshot } from './observe.ts'
import { newestFirst } from './pods.ts'
import type { KubernetesRuntimeSettings } from './settings.ts'
import { toPodSnapshot, toWorkloadSnapshot } from './snapshots.ts'
import type { WatchedKind } from './watch-kind.ts'

const { deployment: deploymentKind, leaderWorkerSet: setKind } = workloadKinds

/** All engines of the namespace, from watches. Only ready ones need no request: a watch may be behind. */
export class WatchedEngines {
  readonly #cluster: Cluster
  readonly #logger: KubernetesRuntimeSettings['logger']
  readonly #ready = new Set<string>()
  readonly #listeners = new Set<(engineId: string) => void>()
  #kinds: {
    deployments: WatchedKind<V1Deployment>
    sets: WatchedKind<LeaderWorkerSet> | null
    pods: WatchedKind<V1Pod>
  } | null = null
  #isOpening = false
  #isClosed = false

  constructor(cluster: Cluster, logger: KubernetesRuntimeSettings['logger']) {
    this.#cluster = cluster
    this.#logger = logger
  }

  /** The state of a ready engine; null for others and while unknown. The first call starts the watches. */
  findReady(engineId: string): EngineSnapshot | null {
    if (!this.#isOpening) void this.#open()
    const kinds = this.#kinds
    if (kinds === null) return null
    const isCurrent = kinds.deployments.isCurrent && kinds.pods.isCurrent && (kinds.sets?.isCurrent ?? true)
    const snapshot = isCurrent ? this.#read(engineId) : null
    return snapshot !== null && isReady(snapshot) ? snapshot : null
  }

  /** Calls `listener` with the id of each deployment whose engine was ready and is no more. */
  onLost(listener: (engineId: string) => void): void {
    this.#listeners.add(listener)
  }

  close(): void {
    this.#isClosed = true
    const { deployments, sets, pods } = this.#kinds ?? {}
    for (const kind of [deployments, sets, pods]) kind?.close()
  }

  async #open(): Promise<void> {
    this.#isOpening = true
    let hasSets: boolean
    try {
      hasSets = await this.#cluster.supportsKind(setKind.apiVersion, setKind.kind)
    } catch (error) {
      this.#isOpening = false
      return this.#logger.warn({ err: error }, 'could not watch the engines of the cluster')
    }
    if (this.#isClosed) return
    const options = {
      labelSelector: managedSelector,
      onChange: (object: KubernetesObject) => this.#change(object),
      onInterruption: (error: unknown) =>
        this.#logger.warn({ err: error }, 'the watch of the engines was interrupted'),
    }
    this.#kinds = {
      deployments: this.#cluster.watch<V1Deployment>(deploymentKind, 'deployments', options),
      sets: hasSets ? this.#cluster.watch<LeaderWorkerSet>(setKind, 'leaderworkersets', options) : null,
      pods: this.#cluster.watch<V1Pod>({ apiVersion: 'v1', kind: 'Pod' }, 'pods', options),
    }
  }

  #change({ metadata }: KubernetesObject): void {
    const engineId = metadata?.labels?.[labels.engineId]
    // A change may arrive while the watches are opened.
    if (engineId === undefined || this.#kinds === null) return
    if (isReady(this.#read(engineId))) this.#ready.add(engineId)
    else if (this.#ready.delete(engineId)) for (const listener of this.#listeners) listener(engineId)
  }

  #read(engineId: string): EngineSnapshot {
    const { deployments, sets, pods } = this.#kinds!
    const name = objectNameOf(engineId)
    const deployment = deployments.get(name)
    if (deployment !== undefined) return { workload: toWorkloadSnapshot(reviveDates(deployment)), pods: [] }
    const set = sets?.get(name)
    if (set === undefined) return { workload: null, pods: [] }
    const found = pods.list().filter(({ metadata }) => metadata?.labels?.[labels.engineId] === engineId)
    return {
      // The objects of a list don't name their kind.
      workload: toWorkloadSnapshot({ ...set, ...setKind }),
      pods: newestFirst(found.map(reviveDates)).map((pod) => toPodSnapshot(pod)),
    }
  }
}

function isReady(snapshot: EngineSnapshot): boolean {
  // Timeouts and addresses matter only for other phases.
  const timeouts = { now: 0, capacityWaitMs: Infinity }
  return evaluateEngine(snapshot, { baseUrl: '' }, timeouts).phase === 'ready'
}

const dates = new Set([
  'creationTimestamp',
  'deletionTimestamp',
  'lastTransitionTime',
  'startedAt',
  'finishedAt',
])

/** A watch delivers dates as texts: the client converts them only for other requests. */
function reviveDates<T>(value: T): T {
  if (Array.isArray(value)) return value.map((each: unknown) => reviveDates(each)) as T
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  const entries = Object.entries(value).map(([name, each]: [string, unknown]) => {
    return [name, dates.has(name) && typeof each === 'string' ? new Date(each) : reviveDates(each)]
  })
  return Object.fromEntries(entries) as T
}
