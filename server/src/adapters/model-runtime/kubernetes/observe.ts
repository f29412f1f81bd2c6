import type { V1ContainerStatus } from '@kubernetes/client-node'
import type { EngineEndpoint, EngineFailure, EngineObservation } from '../../../ports/model-runtime.ts'
import { judgeEnd } from './engine-end.ts'
import {
  createdAt,
  describeLoss,
  findCondition,
  findEnd,
  findEngine,
  isEnding,
  isReady,
  isScheduled,
  sentence,
} from './pods.ts'
import type { PodSight } from './pods.ts'

/** Of a Deployment or LeaderWorkerSet what it is judged by. */
export interface WorkloadSight {
  replicas: number
  /** Pods that make one engine */
  nodes: number
  /** Its controller says so; else the pods are to be judged */
  isReady: boolean
  /** What the cluster says about pods that could not be made, oldest first */
  refusals: readonly string[]
}

/** All that is known of a deployment's engine. */
export interface Sight {
  /** null: there is none */
  workload: WorkloadSight | null
  pods: readonly PodSight[]
}

export interface Patience {
  now: number
  /** Milliseconds that a pod may wait for a node */
  capacityWaitMs: number
}

const minute = 60_000
/** A node that is being added takes minutes to come. */
const scaleUpWait = 10 * minute
/** Registries fail now and then; a pod may be there before its Secret is. */
const pullWait = 5 * minute
const configurationWait = minute
const volumeWait = 5 * minute

/** What is seen of an engine, as the port tells it. */
export function judgeEngine(sight: Sight, endpoint: EngineEndpoint, patience: Patience): EngineObservation {
  const { workload, pods } = sight
  if (workload === null || workload.replicas === 0) return { phase: 'absent' }
  if (workload.isReady) return { phase: 'ready', endpoint }
  const current = pods.filter(({ pod }) => !isEnding(pod))
  if (current.length >= workload.nodes && current.every(({ pod }) => isReady(pod))) {
    return { phase: 'ready', endpoint }
  }
  const loss = current.some(hasRun) ? undefined : pods.map(describeLoss).find((message) => message !== null)
  if (loss !== undefined) {
    return { phase: 'failed', stage: 'runtime', code: 'instance_lost', message: loss }
  }
  const failure = judgeRefusals(workload, current.length) ?? judgePods(current, patience)
  if (failure !== null) return { phase: 'failed', ...failure }
  return { phase: 'starting', message: describeProgress(current) }
}

/** Once the pod in a lost one's place has had its engine running, the loss is history; the lost one is listed on. */
function hasRun({ pod }: PodSight): boolean {
  return findEngine(pod)?.started === true || findEnd(pod) !== null
}

export type ProvisioningSight =
  | { outcome: 'pending'; message: string }
  | { outcome: 'scheduled'; at: Date; podName: string; nodeName: string }
  | ({ outcome: 'refused' } & Omit<EngineFailure, 'stage'>)

/** Whether the pods of an instance type have their nodes. Pods of another type, tried before, are on their way out. */
export function judgeProvisioning(sight: Sight, patience: Patience): ProvisioningSight {
  const pods = sight.pods.filter(({ pod }) => !isEnding(pod))
  const nodes = sight.workload?.nodes ?? 1
  const [first] = pods
  if (first !== undefined && pods.length >= nodes && pods.every(({ pod }) => isScheduled(pod))) {
    const times = pods.map(({ pod }) => {
      return findCondition(pod, 'PodScheduled')?.lastTransitionTime?.getTime() ?? createdAt(pod)
    })
    return {
      outcome: 'scheduled',
      at: new Date(Math.max(...times)),
      podName: first.pod.metadata?.name ?? '',
      nodeName: pods.map(({ pod }) => pod.spec?.nodeName ?? '').join(', '),
    }
  }
  const refusal = sight.workload === null ? null : judgeRefusals(sight.workload, pods.length)
  const failure = refusal ?? judgePods(pods, patience)
  if (failure !== null) return { outcome: 'refused', code: failure.code, message: failure.message }
  return { outcome: 'pending', message: describeProgress(pods) }
}

/** What the cluster says against making the pods at all. */
function judgeRefusals({ nodes, refusals }: WorkloadSight, pods: number): EngineFailure | null {
  const said = refusals.at(-1)
  if (pods >= nodes || said === undefined) return null
  const reason = sentence(said.replace(/^pods "[^"]*" is forbidden: /, ''))
  return /exceeded quota/.test(said)
    ? {
        stage: 'provisioning',
        code: 'quota_exceeded',
        message: `The namespace's quota leaves no room for it: ${reason}`,
      }
    : { stage: 'provisioning', code: 'provider_error', message: `The cluster refuses the pod: ${reason}` }
}

function judgePods(pods: readonly PodSight[], patience: Patience): EngineFailure | null {
  for (const sight of pods) {
    const failure = isScheduled(sight.pod) ? judgeScheduled(sight, patience) : judgeWaiting(sight, patience)
    if (failure !== null) return failure
  }
  return null
}

/** A pod without a node: none has room, or none is of its kind. */
function judgeWaiting({ pod, events }: PodSight, { now, capacityWaitMs }: Patience): EngineFailure | null {
  const said = findCondition(pod, 'PodScheduled')?.message
  if (said === undefined) return null
  if (/persistentvolumeclaim .* not found/.test(said)) {
    const message = `The volume claim for model weights is missing: ${sentence(said)}`
    return { stage: 'provisioning', code: 'provider_error', message }
  }
  const grows = events.some(({ reason }) => reason === 'TriggeredScaleUp')
  const patience = grows ? Math.max(capacityWaitMs, scaleUpWait) : capacityWaitMs
  if (now - createdAt(pod) <= patience) return null
  const seconds = Math.round(patience / 1000)
  const message = `No node had room for it within ${seconds} seconds: ${sentence(said)}`
  return { stage: 'provisioning', code: 'no_capacity', message }
}

function judgeScheduled(sight: PodSight, { now }: Patience): EngineFailure | null {
  const { pod, events } = sight
  const engine = findEngine(pod)
  const waiting = engine?.state?.waiting
  const since = now - (findCondition(pod, 'PodScheduled')?.lastTransitionTime?.getTime() ?? createdAt(pod))
  const why = waiting?.message === undefined ? '.' : `: ${sentence(waiting.message)}`
  switch (waiting?.reason) {
    case 'InvalidImageName':
    case 'ErrImageNeverPull':
      return failStart(`The image ${engine?.image} can't be used${why}`)
    case 'ErrImagePull':
    case 'ImagePullBackOff':
    case 'ImageInspectError':
    case 'RegistryUnavailable':
      return isFinal(waiting.message) || since > pullWait
        ? failStart(`The image ${engine?.image} can't be pulled${why}`)
        : null
    case 'CreateContainerConfigError':
    case 'CreateContainerError':
    case 'RunContainerError':
      return since > configurationWait ? failStart(`The engine's container can't be started${why}`) : null
    default:
  }
  const mount = events.findLast(({ reason }) => reason === 'FailedMount' || reason === 'FailedAttachVolume')
  if (mount !== undefined && engine?.state?.running === undefined && since > volumeWait) {
    return failStart(`A volume of the engine's pod can't be mounted: ${sentence(mount.message ?? '')}`)
  }
  return judgeEnd(sight)
}

function failStart(message: string): EngineFailure {
  return { stage: 'engine_startup', code: 'provider_error', message }
}

/** What a registry says that will not change by waiting; a back-off repeats no reason. */
function isFinal(message = ''): boolean {
  return /not found|manifest unknown|unauthorized|denied|forbidden|invalid reference|no match for platform/i.test(
    message,
  )
}

/** What the first pod that is not ready waits for. */
function describeProgress(pods: readonly PodSight[]): string {
  const sight = pods.find(({ pod }) => !isReady(pod))
  if (sight === undefined) return "The engine's pod is being made."
  const { pod } = sight
  const said = findCondition(pod, 'PodScheduled')?.message
  if (!isScheduled(pod)) {
    return said === undefined
      ? "The engine's pod waits for a node."
      : `It waits for a node: ${sentence(said)}`
  }
  const engine = findEngine(pod)
  const end = findEnd(pod)
  if (engine?.state?.running !== undefined) return describeRunning(engine)
  if (end !== null) return `The engine ended with exit code ${end.exitCode} and is started again.`
  const { reason, message } = engine?.state?.waiting ?? {}
  if (reason !== undefined && reason !== 'ContainerCreating' && reason !== 'PodInitializing') {
    return `The engine waits on node ${pod.spec?.nodeName}: ${sentence(message ?? reason)}`
  }
  return `Node ${pod.spec?.nodeName} is preparing the engine's container and its image.`
}

function describeRunning({ started }: V1ContainerStatus): string {
  return started === true
    ? 'The engine does not answer its health check at the moment.'
    : 'The engine is downloading and loading the model.'
}
