import { isDeepStrictEqual } from 'node:util'
import { describeShortage, findShortage } from '../../../base/local-shortage.ts'
import type { FailureStage } from '../../../ports/engine-failures.ts'
import { readLoads } from '../serving/instance-loads.ts'
import { ensureReady, ensureRunning } from './engine.ts'
import { failInstance } from './fail.ts'
import type { InstanceStatus } from '../state/instance-lifecycle.ts'
import { provisionInstance, selectInstanceType } from './provision.ts'
import { releaseInstance } from './release.ts'
import { findPause, isRecovering } from '../state/recovery.ts'
import { recordLoss } from './replacement.ts'
import { reportWaiting } from './report-waiting.ts'
import { toWaitingColumns } from '../state/waiting.ts'
import {
  changeInstance,
  endDeployment,
  moveInstance,
  pollDelay,
  startInstance,
  toContext,
  timeInStatus,
} from './step.ts'
import type { Deps, Pass, Step, StepContext, StepResult } from './step.ts'
import type { Instance, ScheduledInstance } from '../state/instance-store.ts'
import { readLeased } from './lease-store.ts'
import type { LeasedDeployment, NextStep } from './lease-store.ts'
import type { PassBatches } from './pass-batches.ts'
import { planInstances } from './plan-instances.ts'

const cleanupFailure =
  'cleanup_failed: The compute backend returned an error. Retrying until the cleanup succeeds.'

const second = 1_000
const minute = 60 * second
const provisioningTimeout = 10 * minute

/** How long requests may go on at the instance of a deployment that falls asleep */
const sleepMilliseconds = 30_000
const pollMilliseconds = 1_000

/**
 * Moves a deployment toward its target state until it has to wait, then releases the lease. A step reads the
 * rows and asks the runtime instead of trusting a message. `checkInterval`: milliseconds between two checks
 * of a running instance. True if the deployment is due again already.
 */
export async function reconcileDeployment(
  deps: Deps,
  batches: PassBatches,
  leased: LeasedDeployment,
  checkInterval: number = pollDelay.running,
): Promise<boolean> {
  const lease = { deploymentId: leased.id, number: leased.lease_number }
  let current: LeasedDeployment | undefined = leased
  while (current !== undefined && current.lease_number === lease.number) {
    const { instances, isHardwareAwaited, ...deployment } = current
    const pass: Pass = {
      deps,
      batches,
      lease,
      checkInterval,
      isHardwareAwaited,
      deployment,
      instances,
      isOutdated: false,
      writing: Promise.resolve(),
    }
    const steps = await runPass(pass, instances)
    if (!pass.isOutdated) {
      const { status, reconcile_at: reconcileAt } = pass.deployment
      const pause = pass.instances.length === 0 ? findNextAttempt(pass) : null
      return batches.releases.add({ lease, expected: { status, reconcileAt }, steps, pause })
    }
    current = await readLeased(deps.db, lease.deploymentId)
  }
  return false
}

/** Milliseconds until a deployment without an instance starts one; null if it doesn't. */
function findNextAttempt({ deployment, deps }: Pass): number | null {
  return isRecovering(deployment) && deployment.desired_state === 'awake'
    ? findPause(deployment.recovery, deps.clock())
    : null
}

/** Runs until every instance waits, and returns when each is due next. */
async function runPass(pass: Pass, scheduled: readonly ScheduledInstance[]): Promise<NextStep[]> {
  const waits = new Map(
    scheduled.filter(isWaiting).map(({ id, dueInSeconds }) => [id, dueInSeconds * second]),
  )
  for (;;) {
    const moved = await applyPlan(pass)
    for (const id of moved) waits.delete(id)
    const due = pass.instances.filter(({ id }) => !waits.has(id))
    if (due.length === 0 || pass.isOutdated) return toNextSteps(pass, waits)
    const reached = await Promise.all(due.map((instance) => runInstance(pass, instance)))
    for (const [index, { id }] of due.entries()) waits.set(id, reached[index]!)
  }
}

const isWaiting = ({ dueInSeconds }: ScheduledInstance) => dueInSeconds > 0

function toNextSteps({ instances }: Pass, waits: ReadonlyMap<string, number | null>): NextStep[] {
  return instances.map(({ id }) => ({ instanceId: id, waitMilliseconds: waits.get(id) ?? null }))
}

/** Starts and releases instances as planned; ends a deployment without any. Returns the changed ids. */
async function applyPlan(pass: Pass): Promise<string[]> {
  const plan = planInstances(pass.deployment, pass.deployment.desired_instances, pass.instances)
  const contextOf = (id: string) =>
    toContext(
      pass,
      pass.instances.find((each) => each.id === id)!,
    )
  for (const id of plan.keep) await moveInstance(contextOf(id), { from: 'draining', to: 'running' }, {})
  for (const id of plan.drain) {
    await moveInstance(contextOf(id), { from: 'running', to: 'draining' }, { waiting: { for: 'drain' } })
  }
  for (const id of plan.release) await beginRelease(contextOf(id))
  const isPaused = findPause(pass.deployment.recovery, pass.deps.clock()) > 0
  const starts = isPaused ? 0 : plan.start
  for (let count = 0; count < starts; count += 1) await startInstance(pass)
  const { deployment, instances } = pass
  if (instances.length === 0 && deployment.desired_state === 'ended' && deployment.status !== 'terminated') {
    await endDeployment(pass)
  }
  return [...plan.keep, ...plan.drain, ...plan.release]
}

async function beginRelease(context: StepContext): Promise<void> {
  const { status: from } = context.instance
  if (from === 'releasing' || from === 'released') return
  await moveInstance(context, { from, to: 'releasing' }, { columns: { engine_url: null } })
}

/** Moves an instance until it has to wait; returns for how long. */
async function runInstance(pass: Pass, leased: Instance): Promise<number | null> {
  let instance = leased
  for (;;) {
    const result = await runStep(toContext(pass, instance))
    if ('waitMilliseconds' in result) return result.waitMilliseconds
    if (result.next === undefined || pass.isOutdated) return null
    instance = result.next
  }
}

async function runStep(context: StepContext): Promise<StepResult> {
  const { deps, deployment, instance } = context
  try {
    if (isOutOfReach(context)) return await waitForSetting(context)
    return await steps[instance.status](context)
  } catch (error) {
    deps.log.warn(
      { err: error, deployment: deployment.id, instance: instance.id, status: instance.status },
      'a reconcile step failed, retrying',
    )
    return retryLater(context, error)
  }
}

/** True if RUNTIME does not name the runtime of the instance anymore. */
function isOutOfReach({ deps, instance: { runtime } }: StepContext): boolean {
  return runtime !== null && deps.runtimes.find(runtime) === undefined
}

/**
 * Leaves an instance as it is until its runtime is configured again. It may go on or be gone, so its billing
 * ends at its last sign of life.
 */
async function waitForSetting(context: StepContext): Promise<StepResult> {
  const { deps, instance, pass } = context
  const now = deps.clock()
  // The last check set when the instance is due.
  const seenAt = instance.unreachable_since ?? instance.due_at ?? now
  const lostAt = seenAt < now ? seenAt : now
  const left = instance.started_at === null ? instance : await recordLoss(context, lostAt)
  if (left === undefined) return { next: undefined }
  const message = `The runtime ${instance.runtime} is not configured.`
  await reportWaiting(toContext(pass, left), toStage(instance.status), { for: 'runtime', message })
  return { waitMilliseconds: pollDelay.running }
}

const steps: Record<InstanceStatus, Step> = {
  requested: selectInstanceType,
  provisioning: provisionInstance,
  deploying: ensureReady,
  running: ensureRunning,
  draining: finishRequests,
  releasing: releaseInstance,
  released: async () => ({ waitMilliseconds: null }),
}

/** The step for `draining`: waits for the requests in flight, then releases the instance. */
async function finishRequests(context: StepContext): Promise<StepResult> {
  const { pass, deps, instance } = context
  const { drainNotice } = deps.config.pace
  const elapsed = timeInStatus(context)
  if (elapsed < drainNotice) return { waitMilliseconds: drainNotice - elapsed }
  const load = (await readLoads(deps.db, [instance.id])).get(instance.id)
  const mayWait = pass.deployment.desired_state === 'awake' || elapsed < sleepMilliseconds
  if (load !== undefined && load.inFlight > 0 && mayWait) return { waitMilliseconds: pollMilliseconds }
  const next = await moveInstance(
    context,
    { from: 'draining', to: 'releasing' },
    { columns: { engine_url: null }, waiting: { for: 'release' } },
  )
  return { next }
}

/**
 * Reports a transient error once and retries with a growing delay. Its text may reveal internals, so only the
 * log has it. Only `provisioning` ever gives up, unless this server lacks something.
 */
async function retryLater(context: StepContext, error: unknown): Promise<StepResult> {
  const { instance, deps, deployment } = context
  const shortage = findShortage(error)
  const message = shortage === null ? undefined : `${describeShortage(shortage)} Retrying.`
  const waiting = { for: 'retry', message } as const
  const { waiting_for, status_message, progress } = instance
  const isReported = isDeepStrictEqual(toWaitingColumns(waiting), { waiting_for, status_message, progress })
  // Nothing else is written while the error lasts, so `updated_at` is the time of the first failure.
  const elapsed = isReported ? deps.observedTime.between(instance.updated_at, deps.clock()) : 0
  if (instance.status === 'provisioning' && shortage === null && elapsed > provisioningTimeout) {
    return failInstance(context, {
      stage: 'provisioning',
      code: 'provision_timeout',
      message: 'The compute backend did not answer for 10 minutes, so no instance was allocated.',
    })
  }
  if (deployment.desired_state !== 'ended') await reportWaiting(context, toStage(instance.status), waiting)
  else if (!isReported) {
    await changeInstance(context, {
      waiting,
      deployment: { failure_stage: 'termination', failure_reason: cleanupFailure },
      event: { stage: 'termination', message: cleanupFailure },
    })
  }
  return { waitMilliseconds: Math.min(Math.max(elapsed / 4, second), minute) }
}

function toStage(status: InstanceStatus): FailureStage {
  return status === 'requested'
    ? 'instance_selection'
    : status === 'provisioning'
      ? 'provisioning'
      : status === 'releasing'
        ? 'termination'
        : 'runtime'
}
