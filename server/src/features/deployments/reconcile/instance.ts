import type { DatabaseTransaction } from '../../../database/tables.ts'
import type { LossTime, ServingInstance } from '../../../ports/model-runtime.ts'
import { closeInstanceSpan, openInstanceSpan } from '../../metering/spans.ts'
import { updateDeployment } from '../change-store.ts'
import type { DeploymentChanges } from '../change-store.ts'
import type { Deployment } from '../store.ts'
import type { ReconcileContext } from './step.ts'

/** A deployment's switch to another instance. */
export interface InstanceSwitch {
  changes: DeploymentChanges
  /** One or two sentences for a person */
  reason: string
  /** Closes the span of the lost instance and opens one for its replacement. */
  moveSpan: (transaction: DatabaseTransaction) => Promise<void>
}

/** A launch in a reserved place follows the reservation immediately. One that is later follows a loss. */
const maxLaunchDelay = 5_000

/** Compares the instance that serves the engine with the recorded one. Returns null if they are the same. */
export function planInstanceSwitch(
  deployment: Deployment,
  instance: ServingInstance | undefined,
  now: Date,
): InstanceSwitch | null {
  const { instance_id: oldId, gpu_allocation_id: oldAllocation, instance_released_at: lostAt } = deployment
  if (instance === undefined && lostAt === null) return null
  const serving: ServingInstance = instance ?? { createdAt: now, startedAt: now, reason: null }
  const { instanceId = oldId, gpuAllocationId = oldAllocation, createdAt, reason } = serving
  const isSame = instanceId === oldId && gpuAllocationId === oldAllocation
  if (isSame && lostAt === null && !isRelaunched(deployment, serving)) return null
  const startedAt = earliest(now, latest(serving.startedAt, lostAt ?? createdAt))
  return {
    changes: {
      instance_id: instanceId,
      gpu_allocation_id: gpuAllocationId,
      instance_started_at: startedAt,
      instance_released_at: null,
    },
    reason: [reason, isSame ? null : `Instance ${instanceId} replaced ${oldId}.`].filter(Boolean).join(' '),
    async moveSpan(transaction) {
      await closeInstanceSpan(transaction, deployment, createdAt)
      const region = deployment.region ?? ''
      await openInstanceSpan(
        transaction,
        deployment,
        { instanceId: instanceId ?? '', region, startedAt },
        now,
      )
    },
  }
}

/** True if a reserved place was empty for some time before this engine was launched in it. */
function isRelaunched(
  { instance_started_at: heldSince }: Deployment,
  { instanceId, startedAt }: ServingInstance,
): boolean {
  return (
    instanceId === undefined &&
    heldSince !== null &&
    startedAt.getTime() - heldSince.getTime() > maxLaunchDelay
  )
}

/**
 * Stops the billing of an instance that was lost at `lostAt`, unless its loss is already recorded, and ends an outage of the runtime.
 * Returns undefined if another writer changed the deployment first.
 */
export async function recordLoss(
  { deps, deployment, lease }: ReconcileContext,
  lostAt: LossTime,
): Promise<Deployment | undefined> {
  const { status, instance_started_at: startedAt, unreachable_since: outage } = deployment
  const now = deps.clock()
  if (lostAt === undefined || deployment.instance_released_at !== null) {
    if (outage === null) return deployment
    return updateDeployment(deps.db, lease, status, { unreachable_since: null }, null, now)
  }
  const reported = lostAt === 'unknown' ? (outage ?? now) : lostAt
  const at = earliest(now, latest(reported, startedAt ?? reported))
  const changes = { instance_released_at: at, unreachable_since: null }
  return updateDeployment(deps.db, lease, status, changes, null, now, (transaction) =>
    closeInstanceSpan(transaction, deployment, at),
  )
}

function latest(one: Date, other: Date): Date {
  return one > other ? one : other
}

function earliest(one: Date, other: Date): Date {
  return one < other ? one : other
}
