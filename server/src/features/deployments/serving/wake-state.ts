import { sql } from 'kysely'
import type { Database } from '../../../database/tables.ts'
import type { DeploymentStatus, DesiredState } from '../state/lifecycle.ts'
import type { Recovery } from '../state/recovery.ts'
import type { Refusal } from '../state/tables.ts'

/** How far a deployment is on its way to serve a request that waits for it. */
export interface WakeState {
  status: DeploymentStatus
  desiredState: DesiredState
  isReady: boolean
  /** Why the last wake found no hardware; null if it did */
  refusal: Refusal | null
  failureReason: string | null
  recovery: Recovery | null
}

/** The states of deployments that requests wait for, by id. */
export async function readWakeStates(db: Database, ids: readonly string[]): Promise<Map<string, WakeState>> {
  const { rows } = await sql<WakeState & { id: string }>`
    SELECT id, status, desired_state AS "desiredState", refusal, failure_reason AS "failureReason", recovery, EXISTS (
      SELECT FROM instances WHERE deployment_id = deployments.id AND instances.status = 'running'
        AND engine_url IS NOT NULL) AS "isReady"
    FROM deployments WHERE id = ANY (${ids}::uuid[])`.execute(db)
  return new Map(rows.map(({ id, ...state }) => [id, state]))
}

/** How long the last starts of a deployment took, in seconds; null if it has never started. */
export async function readStartSeconds(db: Database, id: string): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    SELECT avg(extract(epoch FROM ready_at - created_at))::float8 AS seconds FROM (
      SELECT ready_at, created_at FROM instances WHERE deployment_id = ${id}::uuid AND ready_at IS NOT NULL
      ORDER BY id DESC LIMIT 5) AS recent`.execute(db)
  return rows[0]?.seconds ?? null
}
