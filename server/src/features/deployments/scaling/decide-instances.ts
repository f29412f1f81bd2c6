import type { InstancePhase } from '../state/instance-lifecycle.ts'
import { findDemand, listDemands, meanMilliseconds } from './load-window.ts'
import type { LoadSample } from './load-window.ts'

/** How many instances a deployment may have, and what for. */
export interface ScalingPolicy {
  minInstances: number
  maxInstances: number
  /** Sleep after so many minutes without a request; null to stay awake */
  idleMinutes: number | null
  /** Requests in flight per instance to aim for */
  targetConcurrency: number
  /** What the schedule in effect says: 0 asks for sleep, more keeps awake; null without one */
  scheduledMinimum: number | null
}

/** What a server knows about a deployment. Times are milliseconds since 1970. */
export interface ScalingObservations {
  now: number
  /** False while the deployment sleeps, also because a person put it to sleep */
  isAwake: boolean
  /** Oldest first; `findSampleMilliseconds` says how far back */
  load: readonly LoadSample[]
  instances: readonly { status: InstancePhase }[]
  /** How long recent starts took, in milliseconds */
  recentStarts: readonly number[]
  /** The last request, or the wake or deployment if that was later */
  lastUsedAt: number
  /** Starts in a row that found no capacity, and when the last one ended */
  refusals: { count: number; lastAt: number } | null
}

/** Why the number of instances changes, or doesn't although it should. */
export type ScalingReason =
  | 'request'
  | 'schedule'
  | 'idle'
  | 'asleep'
  | 'load'
  | 'burst'
  | 'lower_load'
  | 'minimum'
  | 'maximum'
  | 'no_capacity'
  | 'steady'

export interface ScalingDecision {
  /** Instances that should run or start */
  desired: number
  /** How many of them to start now */
  start: number
  reason: ScalingReason
}

/** How long the load must ask for fewer instances before one is released */
const defaultScaleDownMilliseconds = 300_000
/** Of a deployment that only a schedule lets sleep */
const scheduledIdleMinutes = 5
const firstRetryMilliseconds = 10_000
const lastRetryMilliseconds = 300_000

/**
 * Decides a deployment's desired instances. It grows at once. It shrinks one by one, when the last one is
 * released, and only if every mean of the load in the last `scaleDownMilliseconds` asked for fewer.
 */
export function decideInstances(
  policy: ScalingPolicy,
  observed: ScalingObservations,
  scaleDownMilliseconds = defaultScaleDownMilliseconds,
): ScalingDecision {
  const present = observed.instances.filter(servesOrWill).length
  const decide = (desired: number, reason: ScalingReason): ScalingDecision => ({
    desired,
    start: Math.max(0, desired - present),
    reason,
  })
  if (mayBeAsleep(policy, observed)) return decide(0, observed.isAwake ? 'idle' : 'asleep')
  const demand = findDemand(observed.load, observed.now, policy.targetConcurrency)
  const desired = clamp(demand?.instances ?? 0, findMinimum(policy), policy.maxInstances)
  if (desired > present) {
    if (mustWait(observed)) return { desired, start: 0, reason: 'no_capacity' }
    return decide(desired, explainGrowth(policy, observed, desired, demand?.isBurst ?? false))
  }
  if (present > policy.maxInstances) return decide(policy.maxInstances, 'maximum')
  if (desired < present && mayStepDown(policy, observed, present, scaleDownMilliseconds)) {
    return decide(present - 1, 'lower_load')
  }
  return decide(present, 'steady')
}

/** How far back `decideInstances` needs samples, in milliseconds. */
export function findSampleMilliseconds(
  recentStarts: readonly number[],
  scaleDownMilliseconds = defaultScaleDownMilliseconds,
): number {
  return findHold(recentStarts, scaleDownMilliseconds) + meanMilliseconds
}

/** `policy.target_concurrency`, or 80 % of the requests that an engine processes at the same time. */
export function findTargetConcurrency(target: number | null, parallelSequences: number | null): number {
  return target ?? Math.max(1, Math.floor(0.8 * (parallelSequences ?? 1)))
}

function servesOrWill({ status }: { status: InstancePhase }): boolean {
  return status === 'starting' || status === 'running'
}

/** Minutes without a request until the deployment falls asleep; null if it stays awake. */
export function findIdleMinutes({
  idleMinutes,
  scheduledMinimum,
}: Pick<ScalingPolicy, 'idleMinutes' | 'scheduledMinimum'>): number | null {
  return idleMinutes ?? (scheduledMinimum === 0 ? scheduledIdleMinutes : null)
}

function mayBeAsleep(
  policy: ScalingPolicy,
  { now, isAwake, load, lastUsedAt }: ScalingObservations,
): boolean {
  const last = load.at(-1)
  if (last !== undefined && last.requests > 0) return false
  if (policy.scheduledMinimum !== null && policy.scheduledMinimum > 0) return false
  if (!isAwake) return true
  const isLoadKnown = last !== undefined && now - last.at < meanMilliseconds
  const idleMinutes = findIdleMinutes(policy)
  return isLoadKnown && idleMinutes !== null && now - lastUsedAt >= idleMinutes * 60_000
}

function findMinimum({ minInstances, maxInstances, scheduledMinimum }: ScalingPolicy): number {
  return clamp(scheduledMinimum ?? minInstances, 1, maxInstances)
}

/** Capacity was refused a short while ago. */
function mustWait({ now, refusals }: ScalingObservations): boolean {
  if (refusals === null || refusals.count === 0) return false
  const delay = Math.min(firstRetryMilliseconds * 2 ** (refusals.count - 1), lastRetryMilliseconds)
  // A clock that was set back must not prolong the wait.
  return Math.abs(now - refusals.lastAt) < delay
}

function explainGrowth(
  policy: ScalingPolicy,
  { isAwake }: ScalingObservations,
  desired: number,
  isBurst: boolean,
): ScalingReason {
  if (desired > findMinimum(policy)) return isBurst ? 'burst' : 'load'
  if (policy.scheduledMinimum !== null && policy.scheduledMinimum > 0) return 'schedule'
  return isAwake ? 'minimum' : 'request'
}

function mayStepDown(
  { targetConcurrency }: ScalingPolicy,
  { now, load, instances, recentStarts }: ScalingObservations,
  present: number,
  scaleDownMilliseconds: number,
): boolean {
  if (instances.some(({ status }) => status !== 'running')) return false
  const since = now - findHold(recentStarts, scaleDownMilliseconds)
  const demands = listDemands(load, since, targetConcurrency)
  return demands !== null && demands.length > 0 && demands.every((demand) => demand.instances < present)
}

/** An instance is kept at least as long as its start took: dropping it for less saves nothing. */
function findHold(recentStarts: readonly number[], scaleDownMilliseconds: number): number {
  return Math.max(scaleDownMilliseconds, ...recentStarts)
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}
