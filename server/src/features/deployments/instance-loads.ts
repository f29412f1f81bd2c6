import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'

/** What one server process has in flight at an instance. */
export interface ReportedLoad {
  instanceId: string
  inFlight: number
}

/** What all server processes have in flight at an instance. */
export interface InstanceLoad {
  inFlight: number
  /** Since the last request; null if there was none */
  idleSeconds: number | null
}

/** A process that has stopped reports nothing anymore. */
const reportSeconds = 15

/** Records the load of a process at these instances, which it has used since its last report. */
export async function reportLoads(
  db: Database,
  processId: string,
  loads: readonly ReportedLoad[],
): Promise<void> {
  if (loads.length === 0) return
  await sql`
    INSERT INTO instance_loads AS load (instance_id, process_id, in_flight, used_at, reported_at)
    SELECT id, ${processId}::uuid, "inFlight", now(), now()
    FROM jsonb_to_recordset(${JSON.stringify(loads)}::jsonb) AS reported ("instanceId" uuid, "inFlight" integer)
      JOIN instances ON id = "instanceId"
    WHERE status <> 'released'
    ON CONFLICT (instance_id, process_id)
      DO UPDATE SET in_flight = excluded.in_flight, used_at = excluded.used_at, reported_at = excluded.reported_at`.execute(
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
