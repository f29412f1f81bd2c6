import type { CoreV1Event, V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import { engineContainer } from './names.ts'

/** What was seen of a deployment's pods, and the events about them. */
export interface PodSight {
  pod: V1Pod
  events: readonly CoreV1Event[]
  /** What the engine wrote last before it ended; empty where it has not ended */
  lastWords: readonly string[]
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
  return !isEnding(pod) && findCondition(pod, 'Ready')?.status === 'True'
}

export function isScheduled(pod: V1Pod): boolean {
  return findCondition(pod, 'PodScheduled')?.status === 'True' || pod.spec?.nodeName !== undefined
}

/** True once it was told to go or is over: pods of a workload are never over by themselves. */
export function isEnding({ metadata, status }: V1Pod): boolean {
  return (
    metadata?.deletionTimestamp !== undefined || status?.phase === 'Failed' || status?.phase === 'Succeeded'
  )
}

export function findEngine({ status }: V1Pod): V1ContainerStatus | undefined {
  return status?.containerStatuses?.find(({ name }) => name === engineContainer)
}

/** True while an engine runs that has never ended: no event says more than its pod does. */
export function isUneventful(pod: V1Pod): boolean {
  return !isEnding(pod) && findEngine(pod)?.state?.running !== undefined && findEnd(pod) === null
}

export interface EngineEnd {
  exitCode: number
  reason: string | undefined
  /** Another was started in its place */
  isReplaced: boolean
}

/** How the engine in a pod ended last; null when none has ended. */
export function findEnd(pod: V1Pod): EngineEnd | null {
  const engine = findEngine(pod)
  const end = engine?.state?.terminated ?? engine?.lastState?.terminated
  if (end === undefined) return null
  return { exitCode: end.exitCode, reason: end.reason, isReplaced: engine?.state?.running !== undefined }
}

/** Why a pod was taken from its node though nobody asked for that, in a sentence; null when it was not. */
export function describeLoss({ pod, events }: PodSight): string | null {
  const { status, metadata } = pod
  const where = pod.spec?.nodeName === undefined ? 'its node' : `node ${pod.spec.nodeName}`
  const said = status?.message === undefined ? '' : `: ${shorten(status.message)}`
  const disruption = findCondition(pod, 'DisruptionTarget')
  const happened = (reason: string) => events.some((event) => event.reason === reason)
  if (status?.reason === 'Evicted') return `The engine's pod was evicted from ${where}${sentence(said)}`
  if (disruption?.status === 'True') {
    return `The engine's pod was taken from ${where}: ${sentence(disruption.message ?? disruption.reason ?? 'disrupted')}`
  }
  if (status?.phase === 'Failed') return `The engine's pod ended on ${where}${sentence(said)}`
  if (metadata?.deletionTimestamp === undefined) return null
  if (status?.reason === 'NodeLost' || happened('TaintManagerEviction') || happened('NodeNotReady')) {
    return `The engine was lost with ${where}, which no longer answers.`
  }
  if (happened('Preempted')) return `The engine's pod had to leave ${where} to one of a higher priority.`
  return null
}

/** One line of at most 300 characters, of what the cluster says. */
export function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > 300 ? `${line.slice(0, 299)}…` : line
}

/** Ends a text with exactly one full stop. */
export function sentence(text: string): string {
  return `${shorten(text).replace(/[.\s]+$/, '')}.`
}
