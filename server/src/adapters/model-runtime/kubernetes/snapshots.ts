import type { CoreV1Event, V1Deployment, V1Pod } from '@kubernetes/client-node'
import type { Cluster } from './cluster.ts'
import { deploymentKind, setKind, workloadOf } from './context.ts'
import { readLastLines } from './engine-log.ts'
import { labels, objectNameOf, selectorOf } from './names.ts'
import type { LeaderWorkerSet } from './objects.ts'
import type { EngineSnapshot, WorkloadSnapshot } from './observe.ts'
import { findLastExit, isRunningSinceStart, newestFirst } from './pods.ts'
import type { PodSnapshot } from './pods.ts'

/** The workload of an engine, of either kind; null for none. */
export async function findWorkload(
  cluster: Cluster,
  engineId: string,
): Promise<V1Deployment | LeaderWorkerSet | null> {
  return (
    (await cluster.read<V1Deployment>(workloadOf(engineId, deploymentKind))) ??
    (await cluster.read<LeaderWorkerSet>(workloadOf(engineId, setKind)))
  )
}

/** Reads the workload, and the pods with their events only if the workload is not ready. */
export async function readSnapshot(
  cluster: Cluster,
  engineId: string,
  instanceType?: string,
): Promise<EngineSnapshot> {
  const workload = await findWorkload(cluster, engineId)
  const size = workload === null ? null : toWorkloadSnapshot(workload)
  if (instanceType === undefined && (size === null || size.replicas === 0 || size.isReady)) {
    return { workload: size, pods: [] }
  }
  const pods = (await listPods(cluster, engineId)).filter(
    ({ metadata }) => instanceType === undefined || metadata?.labels?.[labels.instanceType] === instanceType,
  )
  const creationErrors =
    size !== null && pods.length < size.nodes ? await listCreationErrors(cluster, engineId) : []
  return {
    workload: size === null ? null : { ...size, creationErrors: [...size.creationErrors, ...creationErrors] },
    pods: await Promise.all(pods.map((each) => readPodSnapshot(cluster, each))),
  }
}

/** Reads what explains the state of a pod, unless the pod has run since its start. */
export async function readPodSnapshot(cluster: Cluster, found: V1Pod): Promise<PodSnapshot> {
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

/** Reads creation errors from a set's StatefulSets, named after the set and after the leader's pod. */
async function listCreationErrors(cluster: Cluster, engineId: string): Promise<string[]> {
  const name = objectNameOf(engineId)
  const events = await Promise.all([cluster.listEvents(name), cluster.listEvents(`${name}-0`)])
  return events
    .flat()
    .filter(
      ({ reason, involvedObject }) => reason === 'FailedCreate' && involvedObject.kind === 'StatefulSet',
    )
    .toSorted((one, other) => timeOf(one) - timeOf(other))
    .flatMap(({ message }) => message ?? [])
}

async function listPods(cluster: Cluster, engineId: string): Promise<V1Pod[]> {
  return newestFirst(await cluster.listPods(selectorOf(engineId), { mayBeStale: true }))
}

/** A Deployment reports creation errors in a condition. A LeaderWorkerSet reports them only as events. */
export function toWorkloadSnapshot(workload: V1Deployment | LeaderWorkerSet): WorkloadSnapshot {
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

function isLeaderWorkerSet(workload: V1Deployment | LeaderWorkerSet): workload is LeaderWorkerSet {
  return workload.kind === setKind.kind
}

export function toPodSnapshot(
  found: V1Pod,
  events: readonly CoreV1Event[] = [],
  lastLines: readonly string[] = [],
): PodSnapshot {
  return { pod: found, events, lastLines }
}

function timeOf({ lastTimestamp, eventTime, metadata }: CoreV1Event): number {
  return new Date(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? 0).getTime()
}
