import type { Instance } from '../state/instance-store.ts'
import { needsResize } from '../state/resize.ts'
import type { Deployment } from '../state/store.ts'

/** What a deployment does about the number of its instances. The lists have their ids. */
export interface InstancePlan {
  /** How many to start */
  start: number
  /** Those that were draining and are needed again */
  keep: readonly string[]
  /** Those that get no new requests */
  drain: readonly string[]
  /** Those without requests */
  release: readonly string[]
}

type Target = Pick<
  Deployment,
  | 'desired_state'
  | 'failure_reason'
  | 'refusals'
  | 'min_context_tokens'
  | 'min_parallel_sequences'
  | 'adapters'
  | 'engine_options'
  | 'engine_version'
>
type Member = Pick<
  Instance,
  'id' | 'status' | 'context_tokens' | 'parallel_sequences' | 'adapters' | 'engine_settings'
>

/**
 * Plans an awake deployment's instances, oldest first. Those without what the owner asks for leave first,
 * then the newest. One at a time is replaced before it leaves, unless the hardware was refused.
 */
export function planInstances(
  deployment: Target,
  desiredInstances: number,
  instances: readonly Member[],
): InstancePlan {
  const { desired_state, failure_reason: failure, refusals } = deployment
  const live = instances.filter(({ status }) => status !== 'releasing')
  if (desired_state === 'ended' || failure !== null) return { ...nothing, release: toIds(live) }
  const desired = desired_state === 'awake' ? desiredInstances : 0
  const running = live.filter(({ status }) => status === 'running')
  const small = running.filter((instance) => needsResize(deployment, instance))
  const serving = [...running.filter((instance) => !small.includes(instance)), ...small]
  const draining = live.filter(({ status }) => status === 'draining')
  const starting = live.filter(({ status }) => status !== 'running' && status !== 'draining')
  // One that is up already spares the start of another one.
  const keep = draining.slice(0, Math.max(0, desired - serving.length))
  const replaces = small.length > 0 && serving.length === desired && refusals === 0
  const missing = desired - serving.length - keep.length + (replaces ? 1 : 0)
  return {
    start: Math.max(0, missing - starting.length),
    keep: toIds(keep),
    drain: toIds(serving.slice(desired)),
    release: toIds(starting.slice(Math.max(0, missing))),
  }
}

const nothing: InstancePlan = { start: 0, keep: [], drain: [], release: [] }

const toIds = (members: readonly Member[]) => members.map(({ id }) => id)
