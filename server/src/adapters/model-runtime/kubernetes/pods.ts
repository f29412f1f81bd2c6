import type { CoreV1Event, V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import { engineContainer } from './names.ts'

/** A pod of an engine with its events. */
export interface PodSnapshot {
  pod: V1Pod
  events: readonly CoreV1Event[]
  /** The engine's last log lines before it exited; empty if it has not exited */
  lastLines: readonly string[]
}

export function newestFirst(pods: readonly V1Pod[]): V1Pod[] {
  return pods.toSorted((one, other) => createdAt(other) - createdAt(one))
}

export function createdAt({ metadata }: V1Pod): number {
  return metadata?.creationTimestamp?.getTime() ?? 0
}

export function findCondition({ status }: V1Pod, type: string) {
  return status?.conditions?.find((condition) => condition.type === type)
}

export function isReady(pod: V1Pod): boolean {
  return !isTerminating(pod) && findCondition(pod, 'Ready')?.status === 'True'
}

export function isScheduled(pod: V1Pod): boolean {
  return findCondition(pod, 'PodScheduled')?.status === 'True' || pod.spec?.nodeName !== undefined
}

/** True once the pod was deleted or has finished. Pods of a workload never finish on their own. */
export function isTerminating({ metadata, status }: V1Pod): boolean {
  return (
    metadata?.deletionTimestamp !== undefined || status?.phase === 'Failed' || status?.phase === 'Succeeded'
  )
}

/** The engine's container; before it, the container that prepares its weights, if that one can't run. */
export function findEngine({ status }: V1Pod): V1ContainerStatus | undefined {
  return (
    status?.initContainerStatuses?.find(isStuck) ??
    status?.containerStatuses?.find(({ name }) => name === engineContainer)
  )
}

function isStuck({ state }: V1ContainerStatus): boolean {
  if (state?.terminated !== undefined) return state.terminated.exitCode !== 0
  return state?.waiting?.reason !== undefined && state.waiting.reason !== 'PodInitializing'
}

/** True while the engine runs and has never exited. The pod's events add nothing then. */
export function isRunningSinceStart(pod: V1Pod): boolean {
  return !isTerminating(pod) && findEngine(pod)?.state?.running !== undefined && findLastExit(pod) === null
}

/** Identifies the pods that form an engine, regardless of their order. */
export function describeInstance(pods: readonly V1Pod[], gpuModel: string) {
  const sorted = pods.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
  const nodes = sorted.map(({ spec }) => spec?.nodeName ?? '').join(', ')
  const gpus = sorted.reduce((sum, pod) => sum + countGpus(pod), 0)
  return { instanceId: nameOf(sorted[0]), gpuAllocationId: `${nodes}: ${gpus} x ${gpuModel}` }
}

function nameOf(pod: V1Pod | undefined): string {
  return pod?.metadata?.name ?? ''
}

function countGpus({ spec }: V1Pod): number {
  const container = spec?.containers.find(({ name }) => name === engineContainer)
  // Only resources of devices have a domain.
  const device = Object.entries(container?.resources?.limits ?? {}).find(([name]) => name.includes('/'))
  return Number(device?.[1] ?? 0)
}

export interface EngineExit {
  exitCode: number
  reason: string | undefined
  /** The kubelet has started the container again */
  isRestarted: boolean
}

/** The last exit of the engine's container; null if it has never exited. */
export function findLastExit(pod: V1Pod): EngineExit | null {
  const engine = findEngine(pod)
  const exit = engine?.state?.terminated ?? engine?.lastState?.terminated
  if (exit === undefined) return null
  return { exitCode: exit.exitCode, reason: exit.reason, isRestarted: engine?.state?.running !== undefined }
}

/** Says in a sentence why the cluster removed a pod from its node; null if it did not. */
export function describePodLoss({ pod, events }: PodSnapshot): string | null {
  const { status, metadata } = pod
  const where = pod.spec?.nodeName === undefined ? 'its node' : `node ${pod.spec.nodeName}`
  const detail = status?.message === undefined ? '' : `: ${shorten(status.message)}`
  const disruption = findCondition(pod, 'DisruptionTarget')
  const hasEvent = (reason: string) => events.some((event) => event.reason === reason)
  const eviction = events.findLast(({ reason }) => reason === 'Evicted')
  if (status?.reason === 'Evicted' || eviction !== undefined) {
    const reason = status?.message ?? eviction?.message
    return `The engine's pod was evicted from ${where}${reason === undefined ? '.' : `: ${sentence(reason)}`}`
  }
  // Since 1.26 the deletion of a silent node's pod is a disruption too, which names a taint and not the node.
  const isDeleted = metadata?.deletionTimestamp !== undefined
  if (isDeleted && (status?.reason === 'NodeLost' || hasEvent('NodeNotReady'))) {
    return `The engine was lost because ${where} stopped responding.`
  }
  if (disruption?.status === 'True') {
    return `The cluster removed the engine's pod from ${where}: ${sentence(disruption.message ?? disruption.reason ?? 'disrupted')}`
  }
  if (status?.phase === 'Failed') return `The engine's pod failed on ${where}${sentence(detail)}`
  // A killed pod can have `Succeeded`: llama-server exits with 0 on SIGTERM, and engines never finish.
  if (status?.phase === 'Succeeded') return `The engine's pod was stopped on ${where}${sentence(detail)}`
  if (!isDeleted) return null
  if (hasEvent('TaintManagerEviction')) {
    return `The engine was lost because ${where} stopped responding.`
  }
  if (hasEvent('Preempted')) return `A pod with a higher priority preempted the engine's pod on ${where}.`
  return null
}

/** A silent node is unready after 50 s (40 s before 1.32). Berth may not read its heartbeats in Leases. */
const nodeGracePeriodMs = 50_000

/** When a lost pod was last known to work: its engine's exit, or the last heartbeat of its silent node. */
export function findLossTime({ pod, events }: PodSnapshot): Date | undefined {
  const engine = findEngine(pod)
  const exitedAt = engine?.state?.terminated?.finishedAt
  if (exitedAt !== undefined) return exitedAt
  const ready = findCondition(pod, 'Ready')
  const unreadySince = ready !== undefined && ready.status !== 'True' ? ready.lastTransitionTime : undefined
  // A silent node's kubelet can't report that the container ended.
  const isNodeSilent =
    pod.status?.reason === 'NodeLost' ||
    events.some(({ reason }) => reason === 'NodeNotReady' || reason === 'TaintManagerEviction') ||
    /taint manager/i.test(findCondition(pod, 'DisruptionTarget')?.message ?? '')
  if (isNodeSilent && unreadySince !== undefined) {
    return new Date(unreadySince.getTime() - nodeGracePeriodMs)
  }
  return unreadySince ?? findCondition(pod, 'DisruptionTarget')?.lastTransitionTime
}

/** Shortens a message from the cluster to one line of at most 300 characters. */
export function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > 300 ? `${line.slice(0, 299)}…` : line
}

/** Shortens a text and ends it with exactly one period. */
export function sentence(text: string): string {
  return `${shorten(text).replace(/[.\s]+$/, '')}.`
}
