import { sql } from 'kysely'
import { notify } from '../../../database/notifications.ts'
import type { Database } from '../../../database/tables.ts'
import type { Services } from '../../../services.ts'
import type { RefusedOffer } from '../../placement/offers.ts'
import type { Instance } from '../state/instance-store.ts'
import { putToSleepFor } from '../changes/sleep.ts'

/** A deployment that was used so recently keeps its hardware. */
const idleSeconds = 10
/** One that just woke keeps it at least as long. */
const holdSeconds = 30

/** True if an instance waits for hardware that others give up. */
export const isHardwareAwaited = sql<boolean>`EXISTS (
  SELECT FROM instances AS asking WHERE asking.hardware_asked_at IS NOT NULL AND asking.status = 'provisioning')`

/** The hardware of an instance type of a runtime */
type Hardware = RefusedOffer

/** null before the hardware of an instance is chosen */
export function hardwareOf({
  runtime,
  instance_type,
}: Pick<Instance, 'runtime' | 'instance_type'>): Hardware | null {
  return runtime === null || instance_type === null ? null : { runtime, instance_type }
}

/** Names the hardware of an instance type, or of an allocation: a GPU and its shares are the same. */
const wholeOf = (name: ReturnType<typeof sql>) => sql`split_part(${name}, '/', 1)`
const sameHardware = ({ runtime, instance_type: instanceType }: Hardware) =>
  sql<boolean>`runtime = ${runtime} AND ${wholeOf(sql`instance_type`)} = ${wholeOf(sql`${instanceType}::text`)}`

interface YieldingDeployment {
  id: string
  isFallingAsleep: boolean
  /** It has served long enough, and has had no request for a while. */
  mayYield: boolean
}

/** How long a deployment waits for others to become idle */
const busyMilliseconds = 60_000

/**
 * Puts the longest idle deployment on this type to sleep, unless one falls asleep. False: none may yield, or
 * all were busy for as long as this one has waited.
 */
export async function askForHardware(
  deps: Pick<Services, 'db' | 'clock'>,
  deploymentId: string,
  hardware: Hardware,
  waited: number,
): Promise<boolean> {
  const yielding = await listYielding(deps.db, hardware, deploymentId)
  const idle = yielding.find(({ mayYield }) => mayYield)
  if (idle !== undefined && !yielding.some(({ isFallingAsleep }) => isFallingAsleep)) {
    await putToSleepFor(deps, idle.id, { cause: 'yield' })
  }
  const gives = idle !== undefined || yielding.some(({ isFallingAsleep }) => isFallingAsleep)
  return gives || (yielding.length > 0 && waited < busyMilliseconds)
}

/**
 * The instances that wait for hardware of a type, and `newcomer`, with their turn: each organization has a
 * line, and the one that got hardware of this type longest ago is first.
 */
const selectLine = (hardware: Hardware, newcomer: string | null = null) => sql`
  SELECT id, deployment_id, hardware_refused_at,
    row_number() OVER (ORDER BY own_turn, last_started NULLS FIRST, asked_at, id) AS turn
  FROM (
    SELECT instances.id, deployment_id, hardware_refused_at, asked_at,
      row_number() OVER (PARTITION BY organization_id ORDER BY asked_at, instances.id) AS own_turn,
      (SELECT max(held.started_at) FROM instances AS held JOIN deployments AS own ON own.id = held.deployment_id
        WHERE own.organization_id = deployments.organization_id AND held.runtime = instances.runtime
          AND ${wholeOf(sql`held.instance_type`)} = ${wholeOf(sql`instances.instance_type`)}) AS last_started
    FROM instances JOIN deployments ON deployments.id = deployment_id,
      LATERAL (SELECT coalesce(hardware_asked_at, 'infinity') AS asked_at) AS asking
    WHERE (hardware_asked_at IS NOT NULL OR instances.id = ${newcomer}::uuid) AND instances.status = 'provisioning'
      AND desired_state = 'awake' AND ${sameHardware(hardware)}
  ) AS lines`

/** True if an instance that is to be served before this one may fit into hardware that is or becomes free. */
export async function isOvertaking(
  db: Database,
  instance: Pick<Instance, 'id' | 'runtime' | 'instance_type'>,
): Promise<boolean> {
  const hardware = hardwareOf(instance)
  if (hardware === null) return false
  const { id } = instance
  const { rows } = await sql<{ id: string }>`
    WITH line AS (${selectLine(hardware, id)})
    SELECT earlier.id FROM line AS own JOIN line AS earlier ON earlier.turn < own.turn
    WHERE own.id = ${id}::uuid AND (earlier.hardware_refused_at IS NULL OR EXISTS (
      SELECT FROM instances
      WHERE status = 'releasing' AND started_at IS NOT NULL AND ${sameHardware(hardware)}))
    LIMIT 1`.execute(db)
  return rows.length > 0
}

/** Makes the deployment due that is the first to try the free hardware of a type. */
export async function callNext(db: Database, hardware: Hardware): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    UPDATE deployments SET reconcile_at = now() FROM (
      SELECT deployment_id FROM (${selectLine(hardware)}) AS line
      WHERE hardware_refused_at IS NULL ORDER BY turn LIMIT 1) AS first
    WHERE deployments.id = first.deployment_id RETURNING deployments.id`.execute(db)
  for (const { id } of rows) await notify(db, 'deployment_due', id)
}

/** Lets all who wait for hardware of a type try again, because some was released. `callNext` begins. */
export async function offerFreeHardware(db: Database, hardware: Hardware): Promise<void> {
  await db
    .updateTable('instances')
    .set({ hardware_refused_at: null })
    .where('hardware_asked_at', 'is not', null)
    .where('status', '=', 'provisioning')
    .where(sameHardware(hardware))
    .execute()
}

/** True if hardware of this type became free after a time, perhaps after a runtime refused it. */
export async function wasReleasedSince(db: Database, hardware: Hardware, since: Date): Promise<boolean> {
  const released = await db
    .selectFrom('instances')
    .select('id')
    .where('status', '=', 'released')
    .where('status_changed_at', '>=', since)
    .where('started_at', 'is not', null)
    .where(sameHardware(hardware))
    .limit(1)
    .execute()
  return released.length > 0
}

/**
 * The other deployments with `yields` that hold hardware of this type, the longest idle first. A share of a
 * GPU is given up for the whole GPU only if all of the GPU's shares can be.
 */
async function listYielding(
  db: Database,
  hardware: Hardware,
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
    WHERE yields AND desired_state IN ('awake', 'asleep') AND deployments.status IN ('deploying', 'running')
      AND instances.status <> 'released' AND ${sameHardware(hardware)} AND deployments.id <> ${exceptId}::uuid
    GROUP BY deployments.id
    HAVING bool_or(instance_type = ${hardware.instance_type} OR NOT EXISTS (
      SELECT FROM instances AS beside JOIN deployments AS keeping ON keeping.id = beside.deployment_id
      WHERE NOT keeping.yields AND beside.status <> 'released' AND beside.runtime = instances.runtime
        AND ${wholeOf(sql`beside.gpu_allocation_id`)} = ${wholeOf(sql`instances.gpu_allocation_id`)}))
    ORDER BY coalesce(max(used_at), max(instances.status_changed_at))`.execute(db)
  return rows
}
