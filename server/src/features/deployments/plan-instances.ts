import type { Instance } from './instances/store.ts'
import type { Deployment } from './store.ts'

/** What a deployment does about the number of its instances. */
export interface InstancePlan {
  /** How many to start */
  start: number
  /** Ids of those to release */
  release: readonly string[]
}

/** Plans how many instances a deployment should have: one while it is wanted and hasn't failed. */
export function planInstances(
  { wanted, failure_reason: failure }: Pick<Deployment, 'wanted' | 'failure_reason'>,
  instances: readonly Pick<Instance, 'id' | 'status'>[],
): InstancePlan {
  const kept = instances.filter(({ status }) => status !== 'releasing')
  const count = wanted === 'awake' && failure === null ? 1 : 0
  return { start: Math.max(0, count - kept.length), release: kept.slice(count).map(({ id }) => id) }
}
