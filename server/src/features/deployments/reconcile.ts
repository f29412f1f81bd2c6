import type { FailureStage } from '../../ports/model-runtime.ts'
import type { Lease } from './change-store.ts'
import { releaseLease } from './lease-store.ts'
import type { DeploymentStatus } from './lifecycle.ts'
import { ensureReady, ensureRunning } from './reconcile/engine.ts'
import { provisionInstance, selectInstanceType } from './reconcile/provision.ts'
import { releaseFailed, terminate } from './reconcile/release.ts'
import { failDeployment, pollDelay, recordChanges, reportWaiting } from './reconcile/step.ts'
import type { Deps, ReconcileContext, Step, StepResult } from './reconcile/step.ts'
import { findDeployment } from './store.ts'
import type { Deployment } from './store.ts'

const cleanupFailure =
  'cleanup_failed: The compute backend returned an error. Retrying until the cleanup succeeds.'

const second = 1_000
const minute = 60 * second
const provisioningTimeout = 10 * minute

/**
 * Moves a deployment toward its target state, step by step, until it has to wait, then releases the lease. Each step reads the
 * row and asks the runtime instead of trusting a message about what changed. `checkInterval` is the number of milliseconds
 * between two checks of a running deployment.
 */
export async function reconcileDeployment(
  deps: Deps,
  leased: Deployment,
  checkInterval: number = pollDelay.running,
): Promise<void> {
  const lease: Lease = { deploymentId: leased.id, number: leased.lease_number }
  let deployment = leased
  for (;;) {
    const result = await runStep({ deps, deployment, lease, checkInterval })
    if ('waitMilliseconds' in result) {
      const expected = { status: deployment.status, reconcileAt: deployment.reconcile_at }
      return releaseLease(deps.db, lease, expected, result.waitMilliseconds)
    }
    const next = result.next ?? (await findDeployment(deps.db, leased.id))
    if (next === undefined || next.lease_number !== lease.number) return
    deployment = next
  }
}

async function runStep(context: ReconcileContext): Promise<StepResult> {
  const { deps, deployment } = context
  try {
    return await steps[deployment.status](context)
  } catch (error) {
    deps.log.warn(
      { err: error, deployment: deployment.id, status: deployment.status },
      'a reconcile step failed, retrying',
    )
    return retryLater(context)
  }
}

const steps: Record<DeploymentStatus, Step> = {
  requested: selectInstanceType,
  provisioning: provisionInstance,
  deploying: ensureReady,
  running: ensureRunning,
  failed: releaseFailed,
  terminating: terminate,
  terminated: async () => ({ waitMilliseconds: null }),
}

/**
 * Reports a transient error once and retries with a growing delay. Its text may reveal internals, so it goes to the log only. Only
 * `provisioning` ever gives up; every other status retries until it succeeds.
 */
async function retryLater(context: ReconcileContext): Promise<StepResult> {
  const { deployment, deps } = context
  const isReported = deployment.waiting_for === 'retry'
  // Nothing else is written while the error lasts, so `updated_at` is the time of the first failure.
  const elapsed = isReported ? deps.observedTime.between(deployment.updated_at, deps.clock()) : 0
  if (deployment.status === 'provisioning' && elapsed > provisioningTimeout) {
    return failDeployment(context, {
      stage: 'provisioning',
      code: 'provision_timeout',
      message: 'The compute backend did not answer for 10 minutes, so no instance was allocated.',
    })
  }
  const waiting = { for: 'retry' } as const
  if (deployment.status !== 'terminating') await reportWaiting(context, toStage(deployment.status), waiting)
  else if (!isReported) {
    const failure = { failure_stage: 'termination', failure_reason: cleanupFailure } as const
    await recordChanges(context, { ...failure, waiting }, { stage: 'termination', message: cleanupFailure })
  }
  return { waitMilliseconds: Math.min(Math.max(elapsed / 4, second), minute) }
}

function toStage(status: DeploymentStatus): FailureStage {
  return status === 'requested'
    ? 'instance_selection'
    : status === 'provisioning'
      ? 'provisioning'
      : status === 'failed'
        ? 'termination'
        : 'runtime'
}
