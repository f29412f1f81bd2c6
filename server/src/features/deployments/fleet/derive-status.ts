import type { Instance } from '../state/instance-store.ts'
import type { DeploymentStatus } from '../state/lifecycle.ts'
import type { Deployment } from '../state/store.ts'

/** The columns of a deployment that follow from its instances. */
export type DerivedColumns = Pick<Deployment, 'status' | 'waiting_for' | 'status_message' | 'progress'>

type Target = Pick<Deployment, 'status' | 'desired_state' | 'failure_reason' | 'ran_at' | 'recovery'>
type InstanceState = Pick<Instance, 'status' | 'waiting_for' | 'status_message' | 'progress'>

/** What a deployment shows: the state of its oldest running instance, or else of its oldest live one. */
export function deriveStatus(deployment: Target, instances: readonly InstanceState[]): DerivedColumns {
  const shown = instances.find(({ status }) => status === 'running') ?? instances[0]
  return {
    status: toStatus(deployment, instances),
    waiting_for: shown?.waiting_for ?? null,
    status_message: shown?.status_message ?? null,
    progress: shown?.progress ?? null,
  }
}

/** The statuses of a starting deployment, the furthest first */
const startingStatuses = ['deploying', 'provisioning', 'requested'] as const

function toStatus(
  { status, desired_state, failure_reason: failure, ran_at: ranAt, recovery }: Target,
  instances: readonly InstanceState[],
): DeploymentStatus {
  if (desired_state === 'ended') return instances.length === 0 ? 'terminated' : 'terminating'
  if (failure !== null) return 'failed'
  // Also while an engine restarts in place, or no hardware is held
  if (desired_state === 'awake' && ranAt !== null && recovery?.next_at != null) return 'deploying'
  const has = (each: InstanceState['status']) => instances.some((instance) => instance.status === each)
  if (has('running') || has('draining')) return 'running'
  if (desired_state === 'asleep') return instances.length === 0 ? 'sleeping' : status
  const furthest = startingStatuses.find(has)
  // What a deployment has left behind once, its next instance doesn't bring back.
  if (furthest === undefined || furthest === 'requested')
    return status === 'requested' ? status : 'provisioning'
  return furthest
}
