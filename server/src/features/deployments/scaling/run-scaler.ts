import { ApplicationError } from '../../../base/errors.ts'
import type { Services } from '../../../services.ts'
import { assertCanGrow } from '../../billing/limits/deployment-limits.ts'
import { updateOwnDeployment } from '../state/change-store.ts'
import type { EventContent } from '../state/change-store.ts'
import { readLoads } from '../serving/instance-loads.ts'
import type { InstanceLoad } from '../serving/instance-loads.ts'
import { listLiveInstances } from '../state/instance-store.ts'
import type { Instance } from '../state/instance-store.ts'
import { addRefusal } from '../changes/refusal.ts'
import { findPause, isRecovering } from '../state/recovery.ts'
import { needsResize } from '../state/resize.ts'
import { putToSleepFor } from '../changes/sleep.ts'
import { wakeAsScheduled } from '../serving/wake.ts'
import { listScalableDeployments } from '../state/store.ts'
import type { Deployment } from '../state/store.ts'
import type { Refusal } from '../state/tables.ts'
import { decideInstances, findIdleMinutes, findSampleMilliseconds } from './decide-instances.ts'
import type { ScalingDecision } from './decide-instances.ts'
import type { LoadSample } from './load-window.ts'
import { countInFlight, observeScaling, toScalingPolicy } from './observe-scaling.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'prices'>

/** The samples of each deployment, oldest first */
type Windows = Map<string, LoadSample[]>

/** Sets desired instances regularly. Every worker decides with its samples; the first writes its decision. */
export function runScaler(deps: Deps): { stop(): Promise<void> } {
  const windows: Windows = new Map()
  let scaling: Promise<void> | null = null
  const timer = setInterval(() => {
    scaling ??= scaleAll(deps, windows)
      .catch((error: unknown) => deps.log.error({ err: error }, 'scaling deployments failed'))
      .finally(() => {
        scaling = null
      })
  }, deps.config.pace.scaling)
  return {
    async stop() {
      clearInterval(timer)
      await scaling
    },
  }
}

async function scaleAll(deps: Deps, windows: Windows): Promise<void> {
  const deployments = await listScalableDeployments(deps.db)
  const ids = new Set(deployments.map(({ id }) => id))
  for (const id of windows.keys()) if (!ids.has(id)) windows.delete(id)
  if (deployments.length === 0) return
  const instances = await listLiveInstances(deps.db, [...ids])
  const loads = await readLoads(
    deps.db,
    [...instances.values()].flat().map(({ id }) => id),
  )
  for (const deployment of deployments) {
    await scale(deps, windows, deployment, instances.get(deployment.id) ?? [], loads).catch(
      (error: unknown) =>
        deps.log.error({ err: error, deployment: deployment.id }, 'scaling a deployment failed'),
    )
  }
}

async function scale(
  deps: Deps,
  windows: Windows,
  deployment: Deployment,
  instances: readonly Instance[],
  loads: ReadonlyMap<string, InstanceLoad>,
): Promise<void> {
  const { scaleDownMilliseconds, pace } = deps.config
  if (isRecovering(deployment) || findPause(deployment.recovery, deps.clock()) > 0) return
  const now = deps.clock().getTime()
  const inFlight = countInFlight(instances, loads)
  // A clock that was set back makes later samples worthless.
  const known = (windows.get(deployment.id) ?? []).filter(({ at }) => at < now)
  const observed = observeScaling(deployment, instances, {
    load: [...known, { at: now, requests: inFlight }],
    loads,
    now,
  })
  const oldest = now - findSampleMilliseconds(observed.recentStarts, scaleDownMilliseconds)
  windows.set(
    deployment.id,
    observed.load.filter(({ at }) => at >= oldest - pace.scaling),
  )
  const policy = toScalingPolicy(deployment, instances, now)
  const decision = decideInstances(policy, observed, scaleDownMilliseconds)
  const isSmall = instances.some(
    (instance) => instance.status === 'running' && needsResize(deployment, instance),
  )
  await follow(deps, deployment, decision, { inFlight, isSmall, idleMinutes: findIdleMinutes(policy) })
}

/** Writes a decision, so that the reconciler starts or releases instances. */
async function follow(
  deps: Deps,
  deployment: Deployment,
  decision: ScalingDecision,
  { inFlight, isSmall, idleMinutes }: { inFlight: number; isSmall: boolean; idleMinutes: number | null },
): Promise<void> {
  const { id, status, desired_state, desired_instances: current, refusals } = deployment
  const { desired, start, reason } = decision
  if (reason === 'idle') return putToSleepFor(deps, id, { cause: 'idle', idle_minutes: idleMinutes })
  if (reason === 'asleep' || reason === 'no_capacity') return
  if (reason === 'schedule' && desired_state === 'asleep') return wakeOnSchedule(deps, deployment)
  // A larger instance that was refused is not asked for again by itself.
  const isRefused = refusals > 0 && start === 0 && !isSmall
  if (desired === current && !isRefused) return
  const organizationId = deployment.organization_id
  const blocked = start > 0 ? await findRefusal(assertCanGrow(deps, organizationId)) : null
  await updateOwnDeployment(
    deps.db,
    { id, status, desired_instances: current },
    blocked === null
      ? { desired_instances: desired, ...(isRefused ? { refusals: 0, refusal: null } : {}) }
      : addRefusal(deployment, blocked, deps.clock()),
    blocked === null && desired !== current ? describeDecision(decision, current, inFlight) : null,
    deps.clock(),
  )
}

/** The event of a decision that changes the number of instances from `current`; null if it needs none. */
function describeDecision(
  { desired, reason }: Pick<ScalingDecision, 'desired' | 'reason'>,
  current: number,
  inFlight: number,
): EventContent | null {
  const cause = describeCause(reason, inFlight)
  if (cause === null || desired === current) return null
  const count = Math.abs(desired - current)
  const instances = count === 1 ? 'one more instance' : `${count} more instances`
  const message =
    desired > current
      ? `Starts ${instances}, ${desired} in total, because ${cause}.`
      : `Goes down to ${desired} ${desired === 1 ? 'instance' : 'instances'}, because ${cause}.`
  return { stage: 'scaling', message }
}

function describeCause(reason: ScalingDecision['reason'], inFlight: number): string | null {
  switch (reason) {
    case 'load':
    case 'burst':
      return `${inFlight} ${inFlight === 1 ? 'request is' : 'requests are'} in flight`
    case 'lower_load':
      return 'fewer requests are in flight'
    case 'minimum':
      return 'the policy asks for them'
    case 'maximum':
      return 'the policy allows no more'
    case 'schedule':
      return 'a schedule asks for them'
    default:
      return null
  }
}

/** Wakes a sleeping deployment, or records why that is refused, so that the next try waits. */
async function wakeOnSchedule(deps: Deps, deployment: Deployment): Promise<void> {
  const refusal = await findRefusal(wakeAsScheduled(deps, deployment))
  if (refusal === null) return
  const { id, status } = deployment
  const at = deps.clock()
  await updateOwnDeployment(deps.db, { id, status }, addRefusal(deployment, refusal, at), null, at)
}

/** Why an attempt is refused; null if it succeeds. */
async function findRefusal(attempt: Promise<void>): Promise<Refusal | null> {
  try {
    await attempt
    return null
  } catch (error) {
    if (!(error instanceof ApplicationError)) throw error
    return { code: error.code, message: error.message }
  }
}
