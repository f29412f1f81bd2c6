import { createHash } from 'node:crypto'
import type { CoreV1Event, KubernetesObject, V1Deployment, V1Pod } from '@kubernetes/client-node'
import type {
  EngineObservation,
  EngineSpec,
  InstanceType,
  ModelRuntime,
  ProvisionResult,
} from '../../../ports/model-runtime.ts'
import { mergeOffers } from '../merge-offers.ts'
import { connectCluster } from './cluster.ts'
import { followEngineLog, readEngineLog, readLastWords } from './engine-log.ts'
import { engineFormats, planEngine } from './engine-plan.ts'
import { labels, managedSelector, objectNameOf, selectorOf } from './names.ts'
import { buildObjects, workloadKinds } from './objects.ts'
import type { EngineObjects, LeaderWorkerSet } from './objects.ts'
import { judgeEngine, judgeProvisioning } from './observe.ts'
import type { Patience, Sight, WorkloadSight } from './observe.ts'
import { describeLoss, findEnd, isEnding, isUneventful, newestFirst } from './pods.ts'
import type { PodSight } from './pods.ts'
import type { KubernetesRuntimeSettings } from './settings.ts'

const { deployment: deploymentKind, leaderWorkerSet: setKind } = workloadKinds
const service = { apiVersion: 'v1', kind: 'Service' }
const secret = { apiVersion: 'v1', kind: 'Secret' }
const networkPolicy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' }
const pod = { apiVersion: 'v1', kind: 'Pod' }

/** A deployment that has its instance waits longer for another when it loses it. */
const rescheduleWaitMs = 10 * 60_000

/**
 * Opens the runtime that gives each deployment a workload of its own in one namespace of a Kubernetes cluster. The cluster
 * holds all of its state, so any number of servers may use it at a time; calls throw where the cluster can't be reached or
 * refuses, and RangeError for an id that is no UUID.
 */
export async function createKubernetesRuntime(settings: KubernetesRuntimeSettings): Promise<ModelRuntime> {
  const cluster = connectCluster(settings)
  const { logger, namespace } = settings
  const types = new Map(settings.instanceTypes.map((type) => [type.name, type]))
  /** Fingerprints of what this process applied in full: it saves requests, and nothing else depends on it */
  const applied = new Map<string, string>()

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

  /** What tells how an engine is: of one that is ready its workload alone, else its pods and what happened to them too. */
  async function look(deploymentId: string, instanceType?: string): Promise<Sight> {
    const workload = await findWorkload(deploymentId)
    const size = workload === null ? null : sizeOf(workload)
    if (instanceType === undefined && (size === null || size.replicas === 0 || size.isReady)) {
      return { workload: size, pods: [] }
    }
    const pods = newestFirst(await cluster.listPods(selectorOf(deploymentId), 'recent')).filter(
      ({ metadata }) =>
        instanceType === undefined || metadata?.labels?.[labels.instanceType] === instanceType,
    )
    const refusals = size !== null && pods.length < size.nodes ? await findRefusals(deploymentId) : []
    return {
      workload: size === null ? null : { ...size, refusals: [...size.refusals, ...refusals] },
      pods: await Promise.all(pods.map(lookAtPod)),
    }
  }

  async function lookAtPod(found: V1Pod): Promise<PodSight> {
    const name = found.metadata?.name ?? ''
    const end = findEnd(found)
    if (isUneventful(found)) return toSight(found)
    const [events, lines] = await Promise.all([
      cluster.listEvents(name),
      end === null ? [] : readLastWords(cluster, name, end.isReplaced).catch(() => []),
    ])
    return toSight(
      found,
      events.toSorted((one, other) => timeOf(one) - timeOf(other)),
      lines.map(({ line }) => line),
    )
  }

  /** A Deployment has a condition for it; the StatefulSet of a LeaderWorkerSet bears its name and has events alone. */
  async function findRefusals(deploymentId: string): Promise<string[]> {
    const events = await cluster.listEvents(objectNameOf(deploymentId))
    return events
      .filter(
        ({ reason, involvedObject }) => reason === 'FailedCreate' && involvedObject.kind === 'StatefulSet',
      )
      .toSorted((one, other) => timeOf(one) - timeOf(other))
      .flatMap(({ message }) => message ?? [])
  }

  async function observe(deploymentId: string): Promise<EngineObservation> {
    const patience = { now: Date.now(), capacityWaitMs: Math.max(settings.capacityWaitMs, rescheduleWaitMs) }
    return judgeEngine(await look(deploymentId), endpointOf(deploymentId), patience)
  }

  /** Makes all objects what they should be: the owner first, so that nothing can be left behind without one. */
  async function applyObjects(spec: EngineSpec, objects: EngineObjects): Promise<void> {
    const { workload, buildDependents } = objects
    const fingerprint = createHash('sha256').update(JSON.stringify(workload)).digest('base64')
    if (applied.get(spec.deploymentId) === fingerprint) return
    const other = workload.kind === setKind.kind ? deploymentKind : setKind
    if (!(await cluster.remove(workloadOf(spec.deploymentId, other)))) {
      throw new Error('The workload of the instance type before is still going.')
    }
    const { metadata } = await cluster.apply<KubernetesObject>(workload)
    const { apiVersion = '', kind = '' } = workload
    const owner = { apiVersion, kind, name: metadata?.name ?? '', uid: metadata?.uid ?? '', controller: true }
    for (const dependent of buildDependents(owner)) await cluster.apply<KubernetesObject>(dependent)
    applied.set(spec.deploymentId, fingerprint)
    logger.info({ deploymentId: spec.deploymentId, kind }, 'applied the objects of an engine')
  }

  /** What a spec needs, or why this cluster can't give it. */
  async function prepare(spec: EngineSpec): Promise<{ type: InstanceType; objects: EngineObjects } | string> {
    const type = types.get(spec.instanceType)
    if (type === undefined) return `This cluster has no instance type ${spec.instanceType}.`
    const planned = planEngine(spec, type, settings)
    if ('refusal' in planned) return planned.refusal
    if (planned.plan.nodes > 1 && !(await cluster.knows(setKind.apiVersion, setKind.kind))) {
      return (
        `${spec.gpuCount} GPUs are more than one node has, and this cluster can't spread an engine over several: ` +
        'LeaderWorkerSet is not installed in it.'
      )
    }
    return { type, objects: buildObjects(spec, type, planned.plan, settings) }
  }

  async function provision(spec: EngineSpec): Promise<ProvisionResult> {
    const prepared = await prepare(spec)
    // Another instance type may do.
    if (typeof prepared === 'string') return { outcome: 'refused', code: 'no_capacity', message: prepared }
    await applyObjects(spec, prepared.objects)
    const patience: Patience = { now: Date.now(), capacityWaitMs: settings.capacityWaitMs }
    const seen = judgeProvisioning(await look(spec.deploymentId, spec.instanceType), patience)
    if (seen.outcome !== 'scheduled') return seen
    return {
      outcome: 'provisioned',
      instance: {
        instanceId: seen.podName,
        clusterId: `kubernetes/${namespace}`,
        gpuAllocationId: `${seen.nodeName}: ${spec.gpuCount} x ${prepared.type.gpuModel}`,
        region: settings.region ?? prepared.type.region,
        startedAt: seen.at,
      },
    }
  }

  async function ensure(spec: EngineSpec): Promise<EngineObservation> {
    const { deploymentId } = spec
    const workload = await findWorkload(deploymentId)
    const isStopped = workload !== null && sizeOf(workload).replicas === 0
    if (workload === null || isStopped) applied.delete(deploymentId)
    // Asked for anew before its pods are gone, an engine would never have been stopped.
    if (isStopped && !(await endPods(deploymentId))) {
      return { phase: 'starting', message: 'The engine is being ended, to be started again.' }
    }
    const prepared = await prepare(spec)
    if (typeof prepared === 'string') {
      return { phase: 'failed', stage: 'engine_startup', code: 'launch_rejected', message: prepared }
    }
    await applyObjects(spec, prepared.objects)
    const seen = await observe(deploymentId)
    return seen.phase === 'absent' ? { phase: 'starting', message: 'The engine is about to start.' } : seen
  }

  /**
   * True once no pod is left. Those that are over, and those on a node that can't confirm their end, would stay until somebody
   * looks: they are removed.
   */
  async function endPods(deploymentId: string): Promise<boolean> {
    const pods = await cluster.listPods(selectorOf(deploymentId))
    for (const { pod: found } of (await Promise.all(pods.filter(isEnding).map(lookAtPod))).filter(
      (sight) => describeLoss(sight) !== null,
    )) {
      await cluster.remove({ ...pod, name: found.metadata?.name ?? '' }, { now: true })
    }
    return pods.length === 0
  }

  async function stop(deploymentId: string): Promise<boolean> {
    applied.delete(deploymentId)
    const workload = await findWorkload(deploymentId)
    if (workload !== null && sizeOf(workload).replicas !== 0) {
      const kind = workload.kind === setKind.kind ? setKind : deploymentKind
      await cluster.setReplicas(workloadOf(deploymentId, kind), 0)
    }
    return endPods(deploymentId)
  }

  async function release(deploymentId: string): Promise<boolean> {
    applied.delete(deploymentId)
    const name = objectNameOf(deploymentId)
    const gone: boolean[] = []
    for (const kind of [deploymentKind, setKind, service, networkPolicy, secret]) {
      gone.push(await cluster.remove({ ...kind, name }))
    }
    const isEmpty = await endPods(deploymentId)
    return isEmpty && gone.every(Boolean)
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
    async listOffers() {
      const there = settings.instanceTypes.filter(({ vendor }) => vendor === 'nvidia')
      return mergeOffers(
        settings.instanceTypes,
        there.map(({ name, region }) => ({
          instanceType: name,
          formats: engineFormats,
          region: settings.region ?? region,
        })),
      )
    },
    provision,
    ensureEngine: ensure,
    observeEngine: observe,
    stopEngine: stop,
    release,
    listDeploymentIds,
    readLogs: (deploymentId, limit) => readEngineLog(cluster, deploymentId, limit),
    followLogs: (deploymentId, signal) => followEngineLog(cluster, deploymentId, signal),
    async close() {},
  }
}

/** A Deployment has a condition for pods that it can't make; what else there is says it by events. */
function sizeOf(workload: V1Deployment | LeaderWorkerSet): WorkloadSight {
  if (isLeaderWorkerSet(workload)) {
    const { replicas, leaderWorkerTemplate } = workload.spec
    return { replicas, nodes: leaderWorkerTemplate.size, isReady: false, refusals: [] }
  }
  const { metadata, spec, status } = workload
  const replicas = spec?.replicas ?? 1
  const failure = status?.conditions?.find(({ type }) => type === 'ReplicaFailure')
  return {
    replicas,
    nodes: 1,
    isReady:
      status?.observedGeneration === metadata?.generation &&
      status?.replicas === replicas &&
      status.updatedReplicas === replicas &&
      status.readyReplicas === replicas,
    refusals: failure?.status === 'True' && failure.message !== undefined ? [failure.message] : [],
  }
}

function isLeaderWorkerSet(workload: V1Deployment | LeaderWorkerSet): workload is LeaderWorkerSet {
  return workload.kind === setKind.kind
}

function toSight(
  found: V1Pod,
  events: readonly CoreV1Event[] = [],
  lastWords: readonly string[] = [],
): PodSight {
  return { pod: found, events, lastWords }
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
