import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import type { EngineFailure } from '../../../ports/engine-failures.ts'
import type { EngineEndpoint, EngineObservation } from '../../../ports/model-runtime.ts'
import { diagnoseExit } from './engine-exit.ts'
import {
  createdAt,
  describePodLoss,
  findCondition,
  findLastExit,
  findEngine,
  findLossTime,
  isTerminating,
  isReady,
  isScheduled,
  sentence,
} from './pods.ts'
import type { EngineExit, PodSnapshot } from './pods.ts'

/** State of a Deployment or LeaderWorkerSet. */
export interface WorkloadSnapshot {
  replicas: number
  /** Number of pods that form one engine */
  nodes: number
  /** True if the controller reports it; if false, the pods decide */
  isReady: boolean
  /** When the workload last became available, in milliseconds since the epoch */
  availableSince?: number | undefined
  /** Messages about pods that could not be created, oldest first */
  creationErrors: readonly string[]
}

/** State of an engine in the cluster. */
export interface EngineSnapshot {
  /** null if there is no workload */
  workload: WorkloadSnapshot | null
  pods: readonly PodSnapshot[]
}

export interface StartTimeouts {
  /** Current time, in milliseconds since the epoch */
  now: number
  /** Milliseconds that a pod may wait for a node */
  capacityWaitMs: number
}

const minute = 60_000
/** The cluster autoscaler takes minutes to add a node. */
const scaleUpTimeout = 10 * minute
/** Registries have short outages. */
const imagePullTimeout = 5 * minute
/** A pod may be created before its Secret. */
const containerCreationTimeout = minute
const volumeMountTimeout = 5 * minute

/** Translates the state of an engine in the cluster into the port's observation. */
export function evaluateEngine(
  snapshot: EngineSnapshot,
  endpoint: EngineEndpoint,
  timeouts: StartTimeouts,
): EngineObservation {
  const { workload, pods } = snapshot
  if (workload === null || workload.replicas === 0) return { phase: 'absent' }
  if (workload.isReady) return { phase: 'ready', endpoint }
  const current = pods.filter(({ pod }) => !isTerminating(pod))
  if (current.length >= workload.nodes && current.every(({ pod }) => isReady(pod))) {
    return { phase: 'ready', endpoint }
  }
  const lost = current.some(hasStartedEngine) ? undefined : findLoss(pods)
  if (lost !== undefined) return { phase: 'failed', stage: 'runtime', code: 'instance_lost', ...lost }
  const failure = diagnosePodCreation(workload, current.length) ?? diagnosePods(current, timeouts)
  if (failure !== null) return { phase: 'failed', ...failure }
  return { phase: 'starting', message: describeProgress(current) }
}

/** The newest loss among an engine's pods. */
export function findLoss(pods: readonly PodSnapshot[]): { message: string; lostAt?: Date } | undefined {
  for (const snapshot of pods) {
    const message = describePodLoss(snapshot)
    const lostAt = findLossTime(snapshot)
    if (message !== null) return { message, ...(lostAt === undefined ? {} : { lostAt }) }
  }
  return undefined
}

/** Whether the pod's engine has run. A lost pod stays listed, but doesn't matter once another one has run. */
function hasStartedEngine({ pod }: PodSnapshot): boolean {
  return findEngine(pod)?.started === true || findLastExit(pod) !== null
}

export type SchedulingResult =
  | { outcome: 'pending'; message: string }
  | { outcome: 'scheduled'; at: Date }
  | ({ outcome: 'refused' } & Omit<EngineFailure, 'stage'>)

/** Whether all pods have a node. Terminating pods don't count: they belong to an earlier attempt. */
export function evaluateScheduling(snapshot: EngineSnapshot, timeouts: StartTimeouts): SchedulingResult {
  const pods = snapshot.pods.filter(({ pod }) => !isTerminating(pod))
  const nodes = snapshot.workload?.nodes ?? 1
  if (pods.length > 0 && pods.length >= nodes && pods.every(({ pod }) => isScheduled(pod))) {
    const scheduledAt = pods.map(({ pod }) => {
      return findCondition(pod, 'PodScheduled')?.lastTransitionTime?.getTime() ?? createdAt(pod)
    })
    return {
      outcome: 'scheduled',
      at: new Date(Math.max(...scheduledAt)),
    }
  }
  const refusal = snapshot.workload === null ? null : diagnosePodCreation(snapshot.workload, pods.length)
  const failure = refusal ?? diagnosePods(pods, timeouts)
  if (failure !== null) return { outcome: 'refused', code: failure.code, message: failure.message }
  return { outcome: 'pending', message: describeProgress(pods) }
}

/** Diagnoses why the cluster refuses to create the pods. */
function diagnosePodCreation(
  { nodes, creationErrors }: WorkloadSnapshot,
  pods: number,
): EngineFailure | null {
  const error = creationErrors.at(-1)
  if (pods >= nodes || error === undefined) return null
  const reason = sentence(error.replace(/^pods "[^"]*" is forbidden: /, ''))
  return /exceeded quota/.test(error)
    ? {
        stage: 'provisioning',
        code: 'quota_exceeded',
        message: `The namespace's resource quota does not allow another engine: ${reason}`,
      }
    : {
        stage: 'provisioning',
        code: 'provider_error',
        message: `The cluster rejected the engine's pod: ${reason}`,
      }
}

function diagnosePods(pods: readonly PodSnapshot[], timeouts: StartTimeouts): EngineFailure | null {
  for (const snapshot of pods) {
    const failure = isScheduled(snapshot.pod)
      ? diagnoseScheduled(snapshot, timeouts)
      : diagnoseUnscheduled(snapshot, timeouts)
    if (failure !== null) return failure
  }
  return null
}

/** Diagnoses a pod without a node: no node has capacity, or no node matches. */
function diagnoseUnscheduled(
  { pod, events }: PodSnapshot,
  { now, capacityWaitMs }: StartTimeouts,
): EngineFailure | null {
  const reason = readSchedulerReason(pod)
  if (reason === undefined) return null
  if (/persistentvolumeclaim .* not found/.test(reason)) {
    const message = `The volume claim for model weights does not exist: ${sentence(reason)}`
    return { stage: 'provisioning', code: 'provider_error', message }
  }
  const isScalingUp = events.some((event) => event.reason === 'TriggeredScaleUp')
  const timeout = isScalingUp ? Math.max(capacityWaitMs, scaleUpTimeout) : capacityWaitMs
  if (now - createdAt(pod) <= timeout) return null
  const seconds = Math.round(timeout / 1000)
  const message = `No node had capacity for the engine within ${seconds} seconds: ${sentence(reason)}`
  return { stage: 'provisioning', code: 'no_capacity', message }
}

/** Why no node takes a pod, without the note on preemption: engines have no priority. */
function readSchedulerReason(pod: V1Pod): string | undefined {
  const message = findCondition(pod, 'PodScheduled')?.message
  return message?.split(/ (?:no new claims to deallocate, )?preemption: /)[0]
}

function diagnoseScheduled(snapshot: PodSnapshot, { now }: StartTimeouts): EngineFailure | null {
  const { pod, events } = snapshot
  const engine = findEngine(pod)
  const waiting = engine?.state?.waiting
  const since = now - (findCondition(pod, 'PodScheduled')?.lastTransitionTime?.getTime() ?? createdAt(pod))
  const cause = explainWaiting(snapshot)
  const detail = cause === undefined ? '.' : `: ${sentence(cause)}`
  switch (waiting?.reason) {
    case 'InvalidImageName':
    case 'ErrImageNeverPull':
      return failStart(`The image ${engine?.image} can't be used${detail}`)
    case 'ErrImagePull':
    case 'ImagePullBackOff':
    case 'ImageInspectError':
    case 'RegistryUnavailable':
      return isPermanentPullError(cause) || since > imagePullTimeout
        ? failStart(`The image ${engine?.image} can't be pulled${detail}`)
        : null
    case 'CreateContainerConfigError':
    case 'CreateContainerError':
    case 'RunContainerError':
      return since > containerCreationTimeout
        ? failStart(`The engine's container can't be started${detail}`)
        : null
    default:
  }
  const mount = events.findLast(({ reason }) => reason === 'FailedMount' || reason === 'FailedAttachVolume')
  if (mount !== undefined && engine?.state?.running === undefined && since > volumeMountTimeout) {
    return failStart(`A volume of the engine's pod can't be mounted: ${sentence(mount.message ?? '')}`)
  }
  return diagnoseExit(snapshot)
}

function failStart(message: string): EngineFailure {
  return { stage: 'engine_startup', code: 'provider_error', message }
}

/** Why the engine's container waits. A back-off has the registry's words only in an earlier event. */
function explainWaiting({ pod, events }: PodSnapshot): string | undefined {
  const waiting = findEngine(pod)?.state?.waiting
  if (waiting?.reason !== 'ImagePullBackOff') return waiting?.message
  const pull = events.findLast(
    ({ reason, message }) => reason === 'Failed' && pullFailure.test(message ?? ''),
  )
  return pull?.message?.replace(pullFailure, '') ?? waiting.message
}

const pullFailure = /^Failed to pull image "[^"]*": /

/** True for registry errors that a retry can't fix. */
function isPermanentPullError(message = ''): boolean {
  return /not found|manifest unknown|unauthorized|denied|forbidden|invalid reference|no match for platform/i.test(
    message,
  )
}

/** Says what the first unready pod is waiting for. */
function describeProgress(pods: readonly PodSnapshot[]): string {
  const snapshot = pods.find(({ pod }) => !isReady(pod))
  if (snapshot === undefined) return "The engine's pod is being created."
  const { pod } = snapshot
  if (!isScheduled(pod)) {
    const reason = readSchedulerReason(pod)
    return `The engine's pod is waiting for a node${reason === undefined ? '.' : `: ${sentence(reason)}`}`
  }
  const engine = findEngine(pod)
  const exit = findLastExit(pod)
  if (engine?.state?.running !== undefined) {
    const progress = describeRunning(pod, engine)
    return exit === null ? progress : `The engine ${describeExit(exit)} and was restarted. ${progress}`
  }
  if (exit !== null) return `The engine ${describeExit(exit)} and is being restarted.`
  const reason = engine?.state?.waiting?.reason
  if (reason !== undefined && reason !== 'ContainerCreating' && reason !== 'PodInitializing') {
    return `The engine is waiting on node ${pod.spec?.nodeName}: ${sentence(explainWaiting(snapshot) ?? reason)}`
  }
  return `Node ${pod.spec?.nodeName} is pulling the image and creating the engine's container.`
}

/** A container that ends by a signal has the exit code 128 plus the signal: 137 is SIGKILL. */
function describeExit({ exitCode }: EngineExit): string {
  return exitCode === 137 ? 'was killed (exit code 137)' : `exited with code ${exitCode}`
}

function describeRunning(pod: V1Pod, { started, state }: V1ContainerStatus): string {
  if (started !== true) return 'The engine is downloading and loading the model.'
  // Until the readiness probe, seconds after the startup probe, the condition predates the container.
  const unreadySince = findCondition(pod, 'Ready')?.lastTransitionTime?.getTime() ?? 0
  return unreadySince > (state?.running?.startedAt?.getTime() ?? 0)
    ? 'The engine is not answering its health check.'
    : 'The engine has loaded the model and is almost ready.'
}
