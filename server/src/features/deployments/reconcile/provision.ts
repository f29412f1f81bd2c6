import type { FailureCode } from '../../../ports/model-runtime.ts'
import { openInstanceSpan } from '../../metering/spans.ts'
import { moveDeployment } from '../change-store.ts'
import type { DeploymentChanges } from '../change-store.ts'
import { chooseInstance } from '../choose-instance.ts'
import { toEngineSpec } from '../engine-spec.ts'
import type { Selection } from '../instance-selection.ts'
import { fail, pause, record, say, timeInStatus } from './step.ts'
import type { Look, Taken } from './step.ts'

const pendingDeadline = 60 * 60_000

/** `requested`: picks the instance, and fails where none fits. */
export async function selectForDeployment(look: Look): Promise<Taken> {
  const { deployment, lease, world } = look
  const result = await chooseInstance(world, deployment.variant, deployment.offers_refused)
  if (result.outcome === 'infeasible') {
    return fail(look, { stage: 'instance_selection', code: 'no_feasible_instance', message: result.reason })
  }
  const next = await moveDeployment(
    world.db,
    { id: deployment.id, from: 'requested', to: 'provisioning', lease, at: world.clock() },
    toColumns(result.selection),
    { stage: 'instance_selection', message: result.selection.reason },
  )
  return { next }
}

function toColumns({ offer, serving, memoryBytes, reason }: Selection): DeploymentChanges {
  return {
    selected_instance_type: offer.instanceType,
    selection_reason: reason,
    region: offer.region,
    gpu_count: offer.gpuCount,
    memory_bytes: memoryBytes,
    context_tokens: serving.contextTokens,
    parallel_sequences: serving.parallelSequences,
  }
}

/** `provisioning`: takes the instance, or the next one that fits after a refusal. */
export async function provision(look: Look): Promise<Taken> {
  const { deployment, lease, world } = look
  const provisioning = await world.runtime.provision(toEngineSpec(deployment, world.secretKey))
  if (provisioning.outcome === 'refused') return tryNextOffer(look, provisioning)
  if (provisioning.outcome === 'pending') return waitForInstance(look, provisioning.message)
  const { instance } = provisioning
  const at = world.clock()
  const next = await moveDeployment(
    world.db,
    { id: deployment.id, from: 'provisioning', to: 'deploying', lease, at },
    {
      status_message: null,
      cluster_id: instance.clusterId,
      instance_id: instance.instanceId,
      gpu_allocation_id: instance.gpuAllocationId,
      region: instance.region,
      instance_started_at: instance.startedAt,
    },
    {
      stage: 'provisioning',
      message: `Instance ${instance.instanceId} (${deployment.selected_instance_type}) is there.`,
    },
    (transaction) =>
      openInstanceSpan(
        transaction,
        {
          organizationId: deployment.organization_id,
          deploymentId: deployment.id,
          instanceType: deployment.selected_instance_type ?? '',
          region: instance.region,
          startedAt: instance.startedAt,
          requestedAt: deployment.created_at,
        },
        at,
      ),
  )
  return { next }
}

/** The runtime says itself when an instance will not come; the deadline is for one that never says so. */
async function waitForInstance(look: Look, message: string): Promise<Taken> {
  const inStatus = timeInStatus(look)
  if (inStatus > pendingDeadline) {
    const late = `No instance came within an hour. ${message}`
    return fail(look, { stage: 'provisioning', code: 'provision_timeout', message: late })
  }
  await say(look, 'provisioning', message)
  return { waitMilliseconds: Math.min(Math.max(inStatus / 4, pause.starting), pause.running) }
}

/** After a refusal: the next instance type that fits, if capacity was all that was missing, or the end. */
async function tryNextOffer(look: Look, refusal: { code: FailureCode; message: string }): Promise<Taken> {
  const { deployment, world } = look
  const refused = [...deployment.offers_refused, deployment.selected_instance_type ?? '']
  const result =
    refusal.code === 'no_capacity' ? await chooseInstance(world, deployment.variant, refused) : null
  if (result?.outcome !== 'selected') {
    return fail(look, { stage: 'provisioning', code: refusal.code, message: refusal.message })
  }
  const { selection } = result
  const message = `${refusal.message} Trying ${selection.offer.instanceType}.`
  const changes = { ...toColumns(selection), offers_refused: refused }
  return { next: await record(look, changes, { stage: 'provisioning', message }) }
}
