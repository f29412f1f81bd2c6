import type { Instance } from './instances/store.ts'
import type { Deployment } from './store.ts'

/** What a deployment does about the number of its instances. The lists have their ids. */
export interface InstancePlan {
  /** How many to start */
  start: number
  /** Those that were draining and are needed again */
  keep: readonly string[]
  /** Those that get no new requests */
  drain: readonly string[]
  /** Those that serve nobody */
  release: readonly string[]
}

type Wish = Pick<Deployment, 'wanted' | 'failure_reason'>
type Member = Pick<Instance, 'id' | 'status'>

/**
 * Plans the instances of a deployment that should have `count` of them while it is awake. The newest leave first. `instances` has the
 * oldest first.
 */
export function planInstances(
  { wanted, failure_reason: failure }: Wish,
  count: number,
  instances: readonly Member[],
): InstancePlan {
  const live = instances.filter(({ status }) => status !== 'releasing')
  if (wanted === 'ended' || failure !== null) return { ...nothing, release: toIds(live) }
  const wished = wanted === 'awake' ? count : 0
  const serving = live.filter(({ status }) => status === 'running')
  const draining = live.filter(({ status }) => status === 'draining')
  const starting = live.filter(({ status }) => status !== 'running' && status !== 'draining')
  // One that is up already spares the start of another one.
  const keep = draining.slice(0, Math.max(0, wished - serving.length))
  const missing = wished - serving.length - keep.length
  return {
    start: Math.max(0, missing - starting.length),
    keep: toIds(keep),
    drain: toIds(serving.slice(wished)),
    release: toIds(starting.slice(Math.max(0, missing))),
  }
}

const nothing: InstancePlan = { start: 0, keep: [], drain: [], release: [] }

const toIds = (members: readonly Member[]) => members.map(({ id }) => id)
