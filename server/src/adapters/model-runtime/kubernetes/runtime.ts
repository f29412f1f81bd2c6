import type { KubernetesObject, V1Pod } from '@kubernetes/client-node'
import type {
  EngineObservation,
  EngineSpec,
  InstanceOffer,
  ModelRuntime,
  ProvisionResult,
  ServingAllocation,
} from '../../../ports/model-runtime.ts'
import { readEngineError } from '../engine-errors.ts'
import { mergeOffers } from '../merge-offers.ts'
import { applyObjects, describeCommand, planObjects } from './apply-objects.ts'
import { connectCluster } from './cluster.ts'
import type { Cluster } from './cluster.ts'
import { deploymentKind, setKind, workloadOf } from './context.ts'
import type { KubernetesContext } from './context.ts'
import { followEngineLog, readEngineLog } from './engine-log.ts'
import { listEngines, listFormats } from './engine-plan.ts'
import { labels, managedSelector, objectNameOf, selectorOf } from './names.ts'
import { evaluateEngine, evaluateScheduling, findLoss } from './observe.ts'
import type { EngineSnapshot, StartTimeouts } from './observe.ts'
import {
  describeInstance,
  describePodLoss,
  isTerminating,
  createdAt,
  findCondition,
  findEngine,
  isReady,
} from './pods.ts'
import type { KubernetesRuntimeSettings } from './settings.ts'
import { findWorkload, readPodSnapshot, readSnapshot, toWorkloadSnapshot } from './snapshots.ts'
import { WatchedEngines } from './watched-engines.ts'

const service = { apiVersion: 'v1', kind: 'Service' }
const secret = { apiVersion: 'v1', kind: 'Secret' }
const networkPolicy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' }
const pod = { apiVersion: 'v1', kind: 'Pod' }

/** How long an engine that lost its pod may wait for another node. */
const rescheduleWaitMs = 10 * 60_000

/**
 * Runs each engine as a workload in one namespace. The cluster holds all state, so several servers may use
 * it. Calls throw if a request fails, and RangeError if an engine id is not a UUID.
 */
export async function createKubernetesRuntime(settings: KubernetesRuntimeSettings): Promise<ModelRuntime> {
  const cluster = connectCluster(settings)
  const types = new Map(settings.instanceTypes.map((type) => [type.name, type]))
  const watched = new WatchedEngines(cluster, settings.logger)
  const context: KubernetesContext = { cluster, settings, types, applied: new Map(), serving: new Map() }
  return {
    name: 'kubernetes',
    clusterId: clusterIdOf(settings),
    engines: listEngines(settings.images),
    sharedCapacity: null,
    usesCatalogWeights: true,
    loadsUploads: settings.server !== null,
    logs: {
      read: (engineId, limit) => readEngineLog(cluster, engineId, limit),
      follow: (engineId, tail, signal) => followEngineLog(cluster, engineId, tail, signal),
    },
    listOffers: async () => listOffers(settings),
    describeCommand: (engine) => describeCommand(context, engine),
    provision: (spec) => provision(context, spec),
    ensureEngine: (spec) => ensureEngine(context, spec),
    observeEngine: (engineId) => observeEngine(context, engineId, watched.findReady(engineId)),
    onEngineLost: (listener) => watched.onLost(listener),
    stopEngine: (engineId) => stopEngine(context, engineId),
    release: (engineId) => release(context, engineId),
    listEngineIds: () => listEngineIds(context),
    readEngineError,
    async close() {
      watched.close()
    },
  }
}

function listOffers(settings: KubernetesRuntimeSettings): InstanceOffer[] {
  const available = settings.instanceTypes.flatMap((type) => {
    const formats = listFormats(type, settings.images)
    return formats.length === 0 ? [] : { instanceType: type.name, formats, region: type.region }
  })
  return mergeOffers(settings.instanceTypes, available, settings.gpuMemoryShare)
}

function clusterIdOf({ namespace }: KubernetesRuntimeSettings): string {
  return `kubernetes/${namespace}`
}

async function provision(context: KubernetesContext, spec: EngineSpec): Promise<ProvisionResult> {
  const { settings } = context
  const planned = await planObjects(context, spec)
  // Lets the reconciler try the next instance type.
  if (typeof planned === 'string') return { outcome: 'refused', code: 'no_capacity', message: planned }
  await applyObjects(context, spec, planned.objects)
  const timeouts: StartTimeouts = { now: Date.now(), capacityWaitMs: settings.capacityWaitMs }
  const snapshot = await readSnapshot(context.cluster, spec.engineId, spec.instanceType)
  const scheduling = evaluateScheduling(snapshot, timeouts)
  if (scheduling.outcome !== 'scheduled') return scheduling
  const pods = snapshot.pods.map((each) => each.pod).filter((each) => !isTerminating(each))
  return {
    outcome: 'provisioned',
    instance: {
      ...describeInstance(pods, planned.type.gpuModel),
      clusterId: clusterIdOf(settings),
      region: planned.type.region,
      startedAt: scheduling.at,
    },
  }
}

async function ensureEngine(context: KubernetesContext, spec: EngineSpec): Promise<EngineObservation> {
  const { cluster, applied } = context
  const { engineId } = spec
  const workload = await findWorkload(cluster, engineId)
  const isStopped = workload !== null && toWorkloadSnapshot(workload).replicas === 0
  if (workload === null || isStopped) applied.delete(engineId)
  // Wait until the old pods are deleted; scaling up again now would keep them running.
  if (isStopped && !(await confirmPodsDeleted(cluster, engineId))) {
    return { phase: 'starting', message: 'The engine is being stopped before it starts again.' }
  }
  const planned = await planObjects(context, spec)
  if (typeof planned === 'string') {
    return { phase: 'failed', stage: 'engine_startup', code: 'launch_rejected', message: planned }
  }
  await applyObjects(context, spec, planned.objects)
  const observation = await observeEngine(context, engineId)
  return observation.phase === 'absent'
    ? { phase: 'starting', message: 'The engine is about to start.' }
    : observation
}

/** `known` comes from a watch; without it, this reads from the cluster. */
async function observeEngine(
  context: KubernetesContext,
  engineId: string,
  known: EngineSnapshot | null = null,
): Promise<EngineObservation> {
  const { settings } = context
  const timeouts = { now: Date.now(), capacityWaitMs: Math.max(settings.capacityWaitMs, rescheduleWaitMs) }
  const snapshot = known ?? (await readSnapshot(context.cluster, engineId))
  const observation = evaluateEngine(snapshot, endpointOf(settings, engineId), timeouts)
  if (observation.phase !== 'ready') return observation
  return { ...observation, instance: await findServingAllocation(context, engineId, snapshot) }
}

/** Reads the pods again only if the workload has become available again since the last time. */
async function findServingAllocation(
  { cluster, types, serving }: KubernetesContext,
  engineId: string,
  { workload, pods: known }: EngineSnapshot,
): Promise<ServingAllocation | undefined> {
  const availableSince = workload?.availableSince
  const seen = serving.get(engineId)
  if (seen !== undefined && known.length === 0 && seen.availableSince === availableSince) return seen.instance
  // A stale list could name the old pod, and this process would not read again.
  const found =
    known.length > 0 ? known.map((each) => each.pod) : await cluster.listPods(selectorOf(engineId))
  const ready = found.filter(isReady)
  const [first] = ready
  if (first === undefined) return undefined
  const gpuModel = types.get(first.metadata?.labels?.[labels.instanceType] ?? '')?.gpuModel ?? 'unknown GPU'
  const lost = await Promise.all(found.filter(isTerminating).map((each) => readPodSnapshot(cluster, each)))
  const instance = {
    ...describeInstance(ready, gpuModel),
    createdAt: new Date(Math.max(...ready.map(createdAt))),
    startedAt: new Date(Math.max(...ready.map(engineStartedAt))),
    reason: findLoss(lost)?.message ?? null,
  }
  serving.set(engineId, { availableSince, instance })
  return instance
}

/** The start of the engine's current container. */
function engineStartedAt(found: V1Pod): number {
  return (
    (
      findEngine(found)?.state?.running?.startedAt ?? findCondition(found, 'Ready')?.lastTransitionTime
    )?.getTime() ?? createdAt(found)
  )
}

function endpointOf({ engineAddress, namespace }: KubernetesRuntimeSettings, engineId: string) {
  const baseUrl = engineAddress
    .replaceAll('{service}', objectNameOf(engineId))
    .replaceAll('{namespace}', namespace)
  return { baseUrl }
}

/** True once no pod is left. Force-deletes lost pods, which would otherwise stay listed. */
async function confirmPodsDeleted(cluster: Cluster, engineId: string): Promise<boolean> {
  const pods = await cluster.listPods(selectorOf(engineId))
  const terminating = await Promise.all(
    pods.filter(isTerminating).map((each) => readPodSnapshot(cluster, each)),
  )
  for (const snapshot of terminating) {
    if (describePodLoss(snapshot) === null) continue
    await cluster.remove({ ...pod, name: snapshot.pod.metadata?.name ?? '' }, { now: true })
  }
  return pods.length === 0
}

async function stopEngine(
  { cluster, applied, serving }: KubernetesContext,
  engineId: string,
): Promise<boolean> {
  applied.delete(engineId)
  serving.delete(engineId)
  const workload = await findWorkload(cluster, engineId)
  if (workload !== null && toWorkloadSnapshot(workload).replicas !== 0) {
    const kind = workload.kind === setKind.kind ? setKind : deploymentKind
    await cluster.setReplicas(workloadOf(engineId, kind), 0)
  }
  return confirmPodsDeleted(cluster, engineId)
}

async function release({ cluster, applied, serving }: KubernetesContext, engineId: string): Promise<boolean> {
  applied.delete(engineId)
  serving.delete(engineId)
  const name = objectNameOf(engineId)
  const removed: boolean[] = []
  for (const kind of [deploymentKind, setKind, service, networkPolicy, secret]) {
    removed.push(await cluster.remove({ ...kind, name }))
  }
  const hasNoPods = await confirmPodsDeleted(cluster, engineId)
  return hasNoPods && removed.every(Boolean)
}

async function listEngineIds({ cluster }: KubernetesContext): Promise<string[]> {
  const kinds = [deploymentKind, setKind, pod, service, networkPolicy]
  const found = await Promise.all(
    kinds.map(({ apiVersion, kind }) => cluster.list<KubernetesObject>(apiVersion, kind, managedSelector)),
  )
  const ids = found.flat().flatMap(({ metadata }) => metadata?.labels?.[labels.engineId] ?? [])
  return [...new Set(ids)].filter(isEngineId)
}

function isEngineId(id: string): boolean {
  try {
    objectNameOf(id)
    return true
  } catch {
    return false
  }
}
