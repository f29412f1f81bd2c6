import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CoreV1Event, KubernetesObject, V1Deployment, V1Pod } from '@kubernetes/client-node'
import type {
  EngineObservation,
  EngineSpec,
  InstanceType,
  ModelRuntime,
  ProvisionResult,
  ServingInstance,
} from '../../../ports/model-runtime.ts'
import { mergeOffers } from '../merge-offers.ts'
import { connectCluster } from './cluster.ts'
import { followEngineLog, readEngineLog, readLastLines } from './engine-log.ts'
import { engineFormats, listEngines, planEngine } from './engine-plan.ts'
import { labels, managedSelector, objectNameOf, selectorOf } from './names.ts'
import { buildObjects, workloadKinds } from './objects.ts'
import type { EngineObjects, LeaderWorkerSet } from './objects.ts'
import { evaluateEngine, evaluateScheduling, findLoss } from './observe.ts'
import type { StartTimeouts, EngineSnapshot, WorkloadSnapshot } from './observe.ts'
import {
  createdAt,
  describeInstance,
  describePodLoss,
  findCondition,
  findEngine,
  findLastExit,
  isReady,
  isRunningSinceStart,
  isTerminating,
  newestFirst,
} from './pods.ts'
import type { PodSnapshot } from './pods.ts'
import type { KubernetesRuntimeSettings } from './settings.ts'

const { deployment: deploymentKind, leaderWorkerSet: setKind } = workloadKinds
const service = { apiVersion: 'v1', kind: 'Service' }
const secret = { apiVersion: 'v1', kind: 'Secret' }
const networkPolicy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' }
const pod = { apiVersion: 'v1', kind: 'Pod' }

/** How long a deployment that lost its pod may wait for another node. */
const rescheduleWaitMs = 10 * 60_000

/**
 * Creates the runtime that runs each deployment as a workload in one namespace of a Kubernetes cluster. The cluster holds all
 * state, so any number of servers may use it at once. Calls throw if the cluster can't be reached or refuses a request, and
 * throw RangeError if a deployment id is not a UUID.
 */
export async function createKubernetesRuntime(settings: KubernetesRuntimeSettings): Promise<ModelRuntime> {
  const cluster = connectCluster(settings)
  const { logger, namespace } = settings
  const types = new Map(settings.instanceTypes.map((type) => [type.name, type]))
  /** Fingerprints of the objects that this process applied; only saves requests */
  const applied = new Map<string, string>()
  /** The serving instances that this process has seen; only saves requests */
  const serving = new Map<string, { availableSince: number | undefined; instance: ServingInstance }>()

  const workloadOf = (deploymentId: string, kind: typeof deploymentKind | typeof setKind) => ({
    ...kind,
    name: objectNameOf(deploymentId),
  })

  function endpointOf(deploymentId: string) {
    const baseUrl = settings.engineAddress
      .replaceAll('{service}', objectNameOf(deploymentId))
      .replaceAll('{namespace}', namespace)
    return { baseUrl }
  }

  async function findWorkload(deploymentId: string): Promise<V1Deployment | LeaderWorkerSet | null> {
    return (
      (await cluster.read<V1Deployment>(workloadOf(deploymentId, deploymentKind))) ??
      (await cluster.read<LeaderWorkerSet>(workloadOf(deploymentId, setKind)))
    )
  }

  /** Reads the workload, and the pods with their events only if the workload is not ready. */
  async function readSnapshot(deploymentId: string, instanceType?: string): Promise<EngineSnapshot> {
    const workload = await findWorkload(deploymentId)
    const size = workload === null ? null : toWorkloadSnapshot(workload)
    if (instanceType === undefined && (size === null || size.replicas === 0 || size.isReady)) {
      return { workload: size, pods: [] }
    }
    const pods = (await listPods(deploymentId)).filter(
      ({ metadata }) =>
        instanceType === undefined || metadata?.labels?.[labels.instanceType] === instanceType,
    )
    const creationErrors =
      size !== null && pods.length < size.nodes ? await listCreationErrors(deploymentId) : []
    return {
      workload:
        size === null ? null : { ...size, creationErrors: [...size.creationErrors, ...creationErrors] },
      pods: await Promise.all(pods.map(readPodSnapshot)),
    }
  }

  async function readPodSnapshot(found: V1Pod): Promise<PodSnapshot> {
    const name = found.metadata?.name ?? ''
    const exit = findLastExit(found)
    if (isRunningSinceStart(found)) return toPodSnapshot(found)
    const [events, lines] = await Promise.all([
      cluster.listEvents(name),
      exit === null ? [] : readLastLines(cluster, name, exit.isRestarted).catch(() => []),
    ])
    return toPodSnapshot(
      found,
      events.toSorted((one, other) => timeOf(one) - timeOf(other)),
      lines.map(({ line }) => line),
    )
  }

  /**
   * Reads creation errors of a LeaderWorkerSet from the events of its StatefulSets: that of the leader has the set's name, and that of
   * the workers the name of the leader's pod.
   */
  async function listCreationErrors(deploymentId: string): Promise<string[]> {
    const name = objectNameOf(deploymentId)
    const events = await Promise.all([cluster.listEvents(name), cluster.listEvents(`${name}-0`)])
    return events
      .flat()
      .filter(
        ({ reason, involvedObject }) => reason === 'FailedCreate' && involvedObject.kind === 'StatefulSet',
      )
      .toSorted((one, other) => timeOf(one) - timeOf(other))
      .flatMap(({ message }) => message ?? [])
  }

  async function observeEngine(deploymentId: string): Promise<EngineObservation> {
    const timeouts = { now: Date.now(), capacityWaitMs: Math.max(settings.capacityWaitMs, rescheduleWaitMs) }
    const snapshot = await readSnapshot(deploymentId)
    const observation = evaluateEngine(snapshot, endpointOf(deploymentId), timeouts)
    if (observation.phase !== 'ready') return observation
    return { ...observation, instance: await findServingInstance(deploymentId, snapshot) }
  }

  /** Reads the pods again only if the workload became available again since the last time. */
  async function findServingInstance(
    deploymentId: string,
    { workload, pods: known }: EngineSnapshot,
  ): Promise<ServingInstance | undefined> {
    const availableSince = workload?.availableSince
    const seen = serving.get(deploymentId)
    if (seen !== undefined && known.length === 0 && seen.availableSince === availableSince)
      return seen.instance
    // A stale list could name the old pod, and this process would not read again.
    const found =
      known.length > 0 ? known.map((each) => each.pod) : await cluster.listPods(selectorOf(deploymentId))
    const ready = found.filter(isReady)
    const [first] = ready
    if (first === undefined) return undefined
    const gpuModel = types.get(first.metadata?.labels?.[labels.instanceType] ?? '')?.gpuModel ?? 'unknown GPU'
    const lost = await Promise.all(found.filter(isTerminating).map(readPodSnapshot))
    const instance = {
      ...describeInstance(ready, gpuModel),
      createdAt: new Date(Math.max(...ready.map(createdAt))),
      startedAt: new Date(Math.max(...ready.map(engineStartedAt))),
      reason: findLoss(lost)?.message ?? null,
    }
    serving.set(deploymentId, { availableSince, instance })
    return instance
  }

  async function listPods(deploymentId: string): Promise<V1Pod[]> {
    return newestFirst(await cluster.listPods(selectorOf(deploymentId), { mayBeStale: true }))
  }

  /** Applies all objects. The owner comes first, so a crash leaves no object without an owner. */
  async function applyObjects(spec: EngineSpec, objects: EngineObjects): Promise<void> {
    const { workload, buildDependents } = objects
    const fingerprint = createHash('sha256').update(JSON.stringify(workload)).digest('base64')
    if (applied.get(spec.deploymentId) === fingerprint) return
    const other = workload.kind === setKind.kind ? deploymentKind : setKind
    if (!(await cluster.remove(workloadOf(spec.deploymentId, other)))) {
      throw new Error('The workload of the previous instance type is still being deleted.')
    }
    const { metadata } = await cluster.apply<KubernetesObject>(workload)
    const { apiVersion = '', kind = '' } = workload
    const owner = { apiVersion, kind, name: metadata?.name ?? '', uid: metadata?.uid ?? '', controller: true }
    const file = locateWeights(spec)
    const dependents = buildDependents(owner, file === null ? undefined : await readFile(file))
    for (const dependent of dependents) await cluster.apply<KubernetesObject>(dependent)
    applied.set(spec.deploymentId, fingerprint)
    logger.info({ deploymentId: spec.deploymentId, kind }, 'applied the objects of an engine')
  }

  /** The path of a local weights file; null for other weights. */
  function locateWeights({ variant: { weights } }: EngineSpec): string | null {
    return weights.kind === 'file' ? resolve(settings.catalogDirectory, weights.path) : null
  }

  /** Plans the objects for a spec, or returns the reason why this cluster can't run it. */
  async function planObjects(
    spec: EngineSpec,
  ): Promise<{ type: InstanceType; objects: EngineObjects } | string> {
    const type = types.get(spec.instanceType)
    if (type === undefined) return `This cluster does not have the instance type ${spec.instanceType}.`
    const file = locateWeights(spec)
    const planned = planEngine(spec, type, settings, file === null ? null : await measureFile(file))
    if ('refusal' in planned) return planned.refusal
    if (planned.plan.nodes > 1 && !(await cluster.supportsKind(setKind.apiVersion, setKind.kind))) {
      return (
        `${spec.gpuCount} GPUs are more than one node has, and this cluster can't run an engine on several nodes. ` +
        'To allow this, install LeaderWorkerSet.'
      )
    }
    return { type, objects: buildObjects(spec, type, planned.plan, settings) }
  }

  async function provision(spec: EngineSpec): Promise<ProvisionResult> {
    const planned = await planObjects(spec)
    // Lets the reconciler try the next instance type.
    if (typeof planned === 'string') return { outcome: 'refused', code: 'no_capacity', message: planned }
    await applyObjects(spec, planned.objects)
    const timeouts: StartTimeouts = { now: Date.now(), capacityWaitMs: settings.capacityWaitMs }
    const snapshot = await readSnapshot(spec.deploymentId, spec.instanceType)
    const scheduling = evaluateScheduling(snapshot, timeouts)
    if (scheduling.outcome !== 'scheduled') return scheduling
    const pods = snapshot.pods.map((each) => each.pod).filter((each) => !isTerminating(each))
    return {
      outcome: 'provisioned',
      instance: {
        ...describeInstance(pods, planned.type.gpuModel),
        clusterId: `kubernetes/${namespace}`,
        region: settings.region ?? planned.type.region,
        startedAt: scheduling.at,
      },
    }
  }

  async function ensureEngine(spec: EngineSpec): Promise<EngineObservation> {
    const { deploymentId } = spec
    const workload = await findWorkload(deploymentId)
    const isStopped = workload !== null && toWorkloadSnapshot(workload).replicas === 0
    if (workload === null || isStopped) applied.delete(deploymentId)
    // Wait until the old pods are deleted; scaling up again now would keep them running.
    if (isStopped && !(await confirmPodsDeleted(deploymentId))) {
      return { phase: 'starting', message: 'The engine is being stopped before it starts again.' }
    }
    const planned = await planObjects(spec)
    if (typeof planned === 'string') {
      return { phase: 'failed', stage: 'engine_startup', code: 'launch_rejected', message: planned }
    }
    await applyObjects(spec, planned.objects)
    const observation = await observeEngine(deploymentId)
    return observation.phase === 'absent'
      ? { phase: 'starting', message: 'The engine is about to start.' }
      : observation
  }

  /** True once no pod is left. Force-deletes lost pods, which would otherwise stay listed. */
  async function confirmPodsDeleted(deploymentId: string): Promise<boolean> {
    const pods = await cluster.listPods(selectorOf(deploymentId))
    const terminating = await Promise.all(pods.filter(isTerminating).map(readPodSnapshot))
    for (const snapshot of terminating) {
      if (describePodLoss(snapshot) === null) continue
      await cluster.remove({ ...pod, name: snapshot.pod.metadata?.name ?? '' }, { now: true })
    }
    return pods.length === 0
  }

  async function stopEngine(deploymentId: string): Promise<boolean> {
    applied.delete(deploymentId)
    serving.delete(deploymentId)
    const workload = await findWorkload(deploymentId)
    if (workload !== null && toWorkloadSnapshot(workload).replicas !== 0) {
      const kind = workload.kind === setKind.kind ? setKind : deploymentKind
      await cluster.setReplicas(workloadOf(deploymentId, kind), 0)
    }
    return confirmPodsDeleted(deploymentId)
  }

  async function release(deploymentId: string): Promise<boolean> {
    applied.delete(deploymentId)
    serving.delete(deploymentId)
    const name = objectNameOf(deploymentId)
    const removed: boolean[] = []
    for (const kind of [deploymentKind, setKind, service, networkPolicy, secret]) {
      removed.push(await cluster.remove({ ...kind, name }))
    }
    const hasNoPods = await confirmPodsDeleted(deploymentId)
    return hasNoPods && removed.every(Boolean)
  }

  async function listDeploymentIds(): Promise<string[]> {
    const kinds = [deploymentKind, setKind, pod, service, networkPolicy]
    const found = await Promise.all(
      kinds.map(({ apiVersion, kind }) => cluster.list<KubernetesObject>(apiVersion, kind, managedSelector)),
    )
    const ids = found.flat().flatMap(({ metadata }) => metadata?.labels?.[labels.deploymentId] ?? [])
    return [...new Set(ids)].filter(isDeploymentId)
  }

  return {
    name: 'kubernetes',
    engines: listEngines(settings.images),
    async listOffers() {
      const available = settings.instanceTypes.filter(({ vendor }) => vendor === 'nvidia')
      return mergeOffers(
        settings.instanceTypes,
        available.map(({ name, region }) => ({
          instanceType: name,
          formats: engineFormats,
          region: settings.region ?? region,
        })),
        settings.gpuMemoryShare,
      )
    },
    provision,
    ensureEngine,
    observeEngine,
    stopEngine,
    release,
    listDeploymentIds,
    readLogs: (deploymentId, limit) => readEngineLog(cluster, deploymentId, limit),
    followLogs: (deploymentId, tail, signal) => followEngineLog(cluster, deploymentId, tail, signal),
    async close() {},
  }
}

/** The size of a file in bytes; null if it does not exist. */
async function measureFile(path: string): Promise<number | null> {
  const found = await stat(path).catch(() => null)
  return found?.isFile() ? found.size : null
}

/** A Deployment reports creation errors in a condition. A LeaderWorkerSet reports them only as events. */
function toWorkloadSnapshot(workload: V1Deployment | LeaderWorkerSet): WorkloadSnapshot {
  if (isLeaderWorkerSet(workload)) {
    const { replicas, leaderWorkerTemplate } = workload.spec
    return { replicas, nodes: leaderWorkerTemplate.size, isReady: false, creationErrors: [] }
  }
  const { metadata, spec, status } = workload
  const replicas = spec?.replicas ?? 1
  const failure = status?.conditions?.find(({ type }) => type === 'ReplicaFailure')
  const available = status?.conditions?.find(({ type }) => type === 'Available')
  return {
    replicas,
    nodes: 1,
    isReady:
      status?.observedGeneration === metadata?.generation &&
      status?.replicas === replicas &&
      status.updatedReplicas === replicas &&
      status.readyReplicas === replicas,
    availableSince: available?.lastTransitionTime?.getTime(),
    creationErrors: failure?.status === 'True' && failure.message !== undefined ? [failure.message] : [],
  }
}

/** The start of the engine's current container. */
function engineStartedAt(found: V1Pod): number {
  return (
    (
      findEngine(found)?.state?.running?.startedAt ?? findCondition(found, 'Ready')?.lastTransitionTime
    )?.getTime() ?? createdAt(found)
  )
}

function isLeaderWorkerSet(workload: V1Deployment | LeaderWorkerSet): workload is LeaderWorkerSet {
  return workload.kind === setKind.kind
}

function toPodSnapshot(
  found: V1Pod,
  events: readonly CoreV1Event[] = [],
  lastLines: readonly string[] = [],
): PodSnapshot {
  return { pod: found, events, lastLines }
}

function timeOf({ lastTimestamp, eventTime, metadata }: CoreV1Event): number {
  return new Date(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? 0).getTime()
}

function isDeploymentId(id: string): boolean {
  try {
    objectNameOf(id)
    return true
  } catch {
    return false
  }
}
