import type { FailureStage } from '../../ports/model-runtime.ts'
import type { Lease } from './change-store.ts'
import { returnLease } from './lease-store.ts'
import type { DeploymentStatus } from './lifecycle.ts'
import { bringUp, keepUp } from './reconcile/engine.ts'
import { provision, selectForDeployment } from './reconcile/provision.ts'
import { giveBack, terminate } from './reconcile/release.ts'
import { fail, pause, record, say } from './reconcile/step.ts'
import type { Look, Step, Taken, World } from './reconcile/step.ts'
import { findDeployment } from './store.ts'
import type { Deployment } from './store.ts'

/** A fault's own text may name inner workings: the log has it, the deployment's owner gets this. */
const runtimeFault = 'The runtime did not do what it was asked.'
const passingFault = `${runtimeFault} Trying again.`
const cleanupFault = `cleanup_failed: ${runtimeFault}`

const second = 1_000
const minute = 60 * second
const provisioningDeadline = 10 * minute

/**
 * Brings a deployment towards what its status asks for, one step after the other, until there is something to wait for, and
 * gives the lease back. It takes no word for what changed: it reads the row and asks the runtime. One that runs is looked at again
 * after `runningPause` milliseconds.
 */
export async function reconcileDeployment(
  world: World,
  leased: Deployment,
  runningPause: number = pause.running,
): Promise<void> {
  const lease: Lease = { deploymentId: leased.id, number: leased.lease_number }
  let deployment = leased
  for (;;) {
    const taken = await take({ world, deployment, lease, runningPause })
    if ('waitMilliseconds' in taken) {
      const seen = { status: deployment.status, reconcileAt: deployment.reconcile_at }
      return returnLease(world.db, lease, seen, taken.waitMilliseconds)
    }
    const next = taken.next ?? (await findDeployment(world.db, leased.id))
    if (next === undefined || next.lease_number !== lease.number) return
    deployment = next
  }
}

async function take(look: Look): Promise<Taken> {
  const { world, deployment } = look
  try {
    return await steps[deployment.status](look)
  } catch (error) {
    world.log.warn(
      { err: error, deployment: deployment.id, status: deployment.status },
      'a step failed, trying again',
    )
    return tryAgain(look)
  }
}

const steps: Record<DeploymentStatus, Step> = {
  requested: selectForDeployment,
  provisioning: provision,
  deploying: bringUp,
  running: keepUp,
  failed: giveBack,
  terminating: terminate,
  terminated: async () => ({ waitMilliseconds: null }),
}

/** After a passing fault: says so, waits longer the longer it lasts, and gives up only on an instance that never comes. */
async function tryAgain(look: Look): Promise<Taken> {
  const { deployment, world } = look
  const isEnding = deployment.status === 'terminating'
  const isSaid = isEnding
    ? deployment.failure_reason === cleanupFault
    : deployment.status_message === passingFault
  // It is said once, and while it lasts nothing else is written.
  const elapsed = isSaid ? world.clock().getTime() - deployment.updated_at.getTime() : 0
  if (deployment.status === 'provisioning' && elapsed > provisioningDeadline) {
    const message = 'The runtime gave no instance, and no answer for 10 minutes.'
    return fail(look, { stage: 'provisioning', code: 'provision_timeout', message })
  }
  if (!isEnding) await say(look, stageOf(deployment.status), passingFault)
  else if (!isSaid) {
    const event = { stage: 'termination', message: cleanupFault }
    await record(look, { failure_stage: 'termination', failure_reason: cleanupFault }, event)
  }
  return { waitMilliseconds: Math.min(Math.max(elapsed / 4, second), minute) }
}

function stageOf(status: DeploymentStatus): FailureStage {
  return status === 'requested'
    ? 'instance_selection'
    : status === 'provisioning'
      ? 'provisioning'
      : status === 'failed'
        ? 'termination'
        : 'runtime'
}
