import { saveEngineLog } from '../state/engine-log.ts'
import type { EventContent } from '../state/change-store.ts'
import { findLastTransition } from '../state/store.ts'
import { callNext, hardwareOf, offerFreeHardware } from './yielding.ts'
import { measureSleep } from './measure-transition.ts'
import { allReleased, closeSpan, moveInstance, pollDelay, timeInStatus } from './step.ts'
import type { InstanceChange, StepContext, StepResult } from './step.ts'
import { holdsHardware } from '../state/instance-store.ts'

/** Saves the engine's log and releases all. A terminated deployment ends with its last confirmed release. */
export async function releaseInstance(context: StepContext): Promise<StepResult> {
  const { instance, deps } = context
  // The hardware of an instance may be lost, but its pod's log may still be readable.
  if (instance.started_at !== null) await saveEngineLog(deps, instance)
  if (!(await releaseHardware(context))) return { waitMilliseconds: getReleaseDelay(context) }
  const at = deps.clock()
  const hardware = hardwareOf(instance)
  const hadHardware = instance.started_at !== null
  // Before the release is written: no other deployment may get the hardware first.
  if (hadHardware && hardware !== null) await offerFreeHardware(deps.db, hardware)
  const next = await moveInstance(
    context,
    { from: 'releasing', to: 'released' },
    {
      columns: { engine_url: null },
      event: await describeRelease(context, at),
      deployment: clearCleanupFailure(context),
      spans: hadHardware ? [closeSpan(context, at)] : undefined,
    },
  )
  if (next !== undefined && hadHardware && hardware !== null) await callNext(deps.db, hardware)
  return { next }
}

/** True once the runtime confirms it, and for an instance without a choice of hardware. */
async function releaseHardware({ deps, instance }: StepContext): Promise<boolean> {
  const { id, runtime, cluster_id: clusterId } = instance
  return runtime === null || deps.runtimes.get(runtime).release(id, clusterId)
}

async function describeRelease(
  { pass, deps, instance }: StepContext,
  at: Date,
): Promise<EventContent | null> {
  const { id, desired_state } = pass.deployment
  const isLast = pass.instances.length === 1
  if (desired_state === 'ended' && isLast) return allReleased
  const event = holdsHardware(instance)
    ? { stage: 'termination', message: `Instance ${instance.instance_id} was released.` }
    : null
  if (desired_state !== 'asleep' || !isLast) return event
  const begun = await findLastTransition(deps.db, id)
  if (begun?.transition?.type !== 'sleep') return event
  const transition = measureSleep(begun.transition, begun.at, { releasingAt: instance.status_changed_at, at })
  return { ...(event ?? { stage: 'termination', message: 'No instance is left.' }), transition }
}

/** A cleanup that succeeds in the end is no failure. */
function clearCleanupFailure({
  pass: { deployment },
}: StepContext): NonNullable<InstanceChange['deployment']> {
  return deployment.failure_stage === 'termination' ? { failure_stage: null, failure_reason: null } : {}
}

/** Polls often at first, then less often: a pod with a long grace period takes a while to stop. */
function getReleaseDelay(context: StepContext): number {
  return Math.min(Math.max(timeInStatus(context) / 20, pollDelay.stopping), pollDelay.running)
}
