import type { InstanceLoad } from '../serving/instance-loads.ts'
import { instancePhases } from '../state/instance-lifecycle.ts'
import type { Instance } from '../state/instance-store.ts'
import type { Deployment } from '../state/store.ts'
import type { PolicySchedule } from '../state/tables.ts'
import { findTargetConcurrency } from './decide-instances.ts'
import type { ScalingObservations, ScalingPolicy } from './decide-instances.ts'
import type { LoadSample } from './load-window.ts'
import { findScheduledMinimum } from './schedules.ts'
import type { ScalingSchedule } from './schedules.ts'

/** The requests in flight at the instances, and those that wait for them. */
export function countInFlight(
  instances: readonly Instance[],
  loads: ReadonlyMap<string, InstanceLoad>,
): number {
  return instances.reduce((sum, { id }) => sum + (loads.get(id)?.inFlight ?? 0), 0)
}

export function toScalingPolicy(
  deployment: Deployment,
  instances: readonly Instance[],
  now: number,
): ScalingPolicy {
  const sequences = instances.find(({ parallel_sequences: each }) => each !== null)?.parallel_sequences
  return {
    minInstances: deployment.min_instances,
    maxInstances: deployment.max_instances,
    idleMinutes: deployment.idle_minutes,
    targetConcurrency: findTargetConcurrency(deployment.target_concurrency, sequences ?? null),
    scheduledMinimum: findScheduledMinimum(deployment.schedules.map(toScalingSchedule), now).minInstances,
  }
}

function toScalingSchedule({ cron, time_zone, min_instances }: PolicySchedule): ScalingSchedule {
  return { cron, timeZone: time_zone, minInstances: min_instances }
}

/** `load` has the samples of the deployment, oldest first; `loads` the present load of each instance. */
export function observeScaling(
  deployment: Deployment,
  instances: readonly Instance[],
  {
    load,
    loads,
    now,
  }: { load: readonly LoadSample[]; loads: ReadonlyMap<string, InstanceLoad>; now: number },
): ScalingObservations {
  const { desired_state, refusals, refused_at: refusedAt } = deployment
  return {
    now,
    isAwake: desired_state === 'awake',
    load,
    instances: instances.map(({ status }) => ({ status: instancePhases[status] })),
    recentStarts: instances.flatMap(({ created_at: from, ready_at: to }) =>
      to === null ? [] : [to.getTime() - from.getTime()],
    ),
    lastUsedAt: findLastUse(instances, loads, now),
    refusals: refusals === 0 || refusedAt === null ? null : { count: refusals, lastAt: refusedAt.getTime() },
  }
}

/** The last request, or the last time an instance became ready. A deployment that starts is in use. */
function findLastUse(
  instances: readonly Instance[],
  loads: ReadonlyMap<string, InstanceLoad>,
  now: number,
): number {
  const running = instances.filter(({ status }) => status === 'running')
  if (running.length === 0 || instances.some(({ status }) => instancePhases[status] === 'starting')) {
    return now
  }
  const uses = running.flatMap(({ id, status_changed_at: since }) => {
    const idleSeconds = loads.get(id)?.idleSeconds ?? null
    return idleSeconds === null ? [since.getTime()] : [since.getTime(), now - idleSeconds * 1000]
  })
  return Math.max(...uses)
}
