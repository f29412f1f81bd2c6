import { sql } from 'kysely'
import { notify } from '../../../database/notifications.ts'
import type { Database } from '../../../database/tables.ts'
import type { Services } from '../../../services.ts'
import type { Instance } from '../state/instance-store.ts'
import { putToSleepFor } from '../changes/sleep.ts'

/** A deployment that was used so recently keeps its hardware. */
const idleSeconds = 10
/** One that just woke keeps it at least as long. */
const holdSeconds = 30

/** True if an instance waits for hardware that others give up. */
export const isHardwareAwaited = sql<boolean>`EXISTS (
  SELECT FROM instances AS asking WHERE asking.hardware_asked_at IS NOT NULL AND asking.status = 'provisioning')`

interface YieldingDeployment {
  id: string
  isFallingAsleep: boolean
  /** It has served long enough, and has had no request for a while. */
  mayYield: boolean
}

/** Puts the longest idle deployment on this type to sleep, unless one falls asleep. False: none may yield. */
export async function askForHardware(
  deps: Pick<Services, 'db' | 'clock'>,
  deploymentId: string,
  instanceType: string,
): Promise<boolean> {
  const yielding = await listYielding(deps.db, instanceType, deploymentId)
  const idle = yielding.find(({ mayYield }) => mayYield)
  if (idle !== undefined && !yielding.some(({ isFallingAsleep }) => isFallingAsleep)) {
    await putToSleepFor(deps, idle.id, { cause: 'yield' })
  }
  return yielding.length > 0
}

/** The instance that waits longest for hardware of a type */
const selectAsking = (instanceType: string) => sql`
  SELECT instances.id, deployment_id FROM instances JOIN deployments ON deployments.id = deployment_id
  WHERE hardware_asked_at IS NOT NULL AND instances.status = 'provisioning' AND desired_state = 'awake'
    AND instance_type = ${instanceType}
  ORDER BY hardware_asked_at, instances.id LIMIT 1`

/** True if another instance waits longer for hardware of this type. */
export async function isOvertaking(
  db: Database,
  { id, instance_type: instanceType }: Pick<Instance, 'id' | 'instance_type'>,
): Promise<boolean> {
  if (instanceType === null) return false
  const { rows } = await sql<{ id: string }>`${selectAsking(instanceType)}`.execute(db)
  return rows.length > 0 && rows[0]!.id !== id
}

/** Makes the deployment due that waits longest for hardware of this type, because some is free. */
export async function callNext(db: Database, instanceType: string): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    UPDATE deployments SET reconcile_at = now() FROM (${selectAsking(instanceType)}) AS asking
    WHERE deployments.id = asking.deployment_id RETURNING deployments.id`.execute(db)
  for (const { id } of rows) await notify(db, 'deployment_due', id)
}

/** The other deployments with `yields` that hold hardware of this type, the longest idle first. */
async function listYielding(
  db: Database,
  instanceType: string,
  exceptId: string,
): Promise<YieldingDeployment[]> {
  const { rows } = await sql<YieldingDeployment>`
    SELECT deployments.id, desired_state = 'asleep' AS "isFallingAsleep",
      desired_state = 'awake' AND bool_and(instances.status = 'running')
        AND max(instances.status_changed_at) < now() - make_interval(secs => ${holdSeconds})
        AND coalesce(max(used_at) < now() - make_interval(secs => ${idleSeconds}), true)
        AND coalesce(sum(in_flight) FILTER (WHERE reported_at > now() - make_interval(secs => 15)), 0) = 0 AS "mayYield"
    FROM deployments JOIN instances ON deployment_id = deployments.id
      LEFT JOIN instance_loads ON instance_loads.instance_id = instances.id
    WHERE yields AND desired_state IN ('awake', 'asleep') AND deployments.status = 'running'
      AND instances.status <> 'released' AND instance_type = ${instanceType} AND deployments.id <> ${exceptId}::uuid
    GROUP BY deployments.id
    ORDER BY coalesce(max(used_at), max(instances.status_changed_at))`.execute(db)
  return rows
}
