import { sql } from 'kysely'
import type { Database } from '../../../database/tables.ts'

/** What one server process has in flight at an instance, or in the queue for it. */
export interface ReportedLoad {
  instanceId: string
  inFlight: number
  /** The engine has served a request since the last report. */
  isUsed: boolean
}

/** Requests of one server process that wait until a deployment is awake. */
export interface HeldLoad {
  deploymentId: string
  requests: number
}

/** What all server processes have in flight at an instance. */
export interface InstanceLoad {
  inFlight: number
  /** Since the end of the last request that was served; null without one */
  idleSeconds: number | null
}

/** A process that has stopped reports nothing anymore. */
const reportSeconds = 15

/** Records a process's load by instance. A deployment's waiting requests are load of its oldest instance. */
export async function reportLoads(
  db: Database,
  processId: string,
  loads: readonly ReportedLoad[],
  held: readonly HeldLoad[],
): Promise<void> {
  if (loads.length === 0 && held.length === 0) return
  await sql`
    INSERT INTO instance_loads AS load (instance_id, process_id, in_flight, used_at, reported_at)
    SELECT id, ${processId}::uuid, sum(requests), CASE WHEN bool_or(is_used) THEN now() ELSE status_changed_at END, now()
    FROM (
      SELECT "instanceId" AS id, "inFlight" AS requests, "isUsed" AS is_used
      FROM jsonb_to_recordset(${JSON.stringify(loads)}::jsonb)
        AS load ("instanceId" uuid, "inFlight" integer, "isUsed" boolean)
      UNION ALL
      SELECT (SELECT id FROM instances WHERE deployment_id = "deploymentId" AND status NOT IN ('releasing', 'released')
        ORDER BY id LIMIT 1), requests, true
      FROM jsonb_to_recordset(${JSON.stringify(held)}::jsonb) AS held ("deploymentId" uuid, requests integer)
    ) AS reported JOIN instances USING (id)
    WHERE status <> 'released'
    GROUP BY id, status_changed_at
    ON CONFLICT (instance_id, process_id)
      DO UPDATE SET in_flight = excluded.in_flight, used_at = greatest(load.used_at, excluded.used_at), reported_at = excluded.reported_at`.execute(
    db,
  )
}

/** The load of instances by id; without an entry for those that no request has reached. */
export async function readLoads(
  db: Database,
  instanceIds: readonly string[],
): Promise<Map<string, InstanceLoad>> {
  if (instanceIds.length === 0) return new Map()
  const { rows } = await sql<InstanceLoad & { id: string }>`
    SELECT instance_id AS id,
      coalesce(sum(in_flight) FILTER (WHERE reported_at > now() - make_interval(secs => ${reportSeconds})), 0)::integer
        AS "inFlight",
      extract(epoch FROM now() - max(used_at))::float8 AS "idleSeconds"
    FROM instance_loads WHERE instance_id = ANY (${instanceIds}::uuid[]) GROUP BY instance_id`.execute(db)
  return new Map(rows.map(({ id, ...load }) => [id, load]))
}
