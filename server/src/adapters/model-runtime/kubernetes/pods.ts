import type { CoreV1Event, V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import { engineContainer } from './names.ts'

/** A pod of a deployment with its events. */
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

export function findEngine({ status }: V1Pod): V1ContainerStatus | undefined {
  return status?.containerStatuses?.find(({ name }) => name === engineContainer)
}

/** True while the engine runs and has never exited. The pod's events add nothing then. */
export function isRunningSinceStart(pod: V1Pod): boolean {
  return !isTerminating(pod) && findEngine(pod)?.state?.running !== undefined && findLastExit(pod) === null
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
  if (disruption?.status === 'True') {
    return `The cluster removed the engine's pod from ${where}: ${sentence(disruption.message ?? disruption.reason ?? 'disrupted')}`
  }
  if (status?.phase === 'Failed') return `The engine's pod failed on ${where}${sentence(detail)}`
  // llama-server exits with 0 on SIGTERM, so the phase of a killed pod can be `Succeeded`. An engine never finishes on its own.
  if (status?.phase === 'Succeeded') return `The engine's pod was stopped on ${where}${sentence(detail)}`
  if (metadata?.deletionTimestamp === undefined) return null
  if (status?.reason === 'NodeLost' || hasEvent('TaintManagerEviction') || hasEvent('NodeNotReady')) {
    return `The engine was lost because ${where} stopped responding.`
  }
  if (hasEvent('Preempted')) return `A pod with a higher priority preempted the engine's pod on ${where}.`
  return null
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
