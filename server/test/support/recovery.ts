import { sql } from 'kysely'
import type { Recovery } from '../../src/features/deployments/state/recovery.ts'
import { getDeployment } from '../../src/features/deployments/state/store.ts'
import type { TestServer } from './server.ts'

export async function readRecovery({ application }: TestServer, id: string): Promise<Recovery | null> {
  return (await getDeployment(application.db, id)).recovery
}

/** Moves times of a recovery, as if time had passed, and makes it due. `next_at`: only if one is planned. */
export async function changeRecovery(
  { application: { db } }: TestServer,
  id: string,
  changes: Partial<Recovery>,
): Promise<void> {
  const change = JSON.stringify(changes)
  const isAlways = !('next_at' in changes)
  await sql`UPDATE instances SET due_at = NULL WHERE deployment_id = ${id}`.execute(db)
  await sql`UPDATE deployments SET recovery = recovery || ${change}::jsonb,
    reconcile_at = CASE status WHEN 'sleeping' THEN NULL ELSE now() END WHERE id = ${id} AND (${isAlways}::boolean OR recovery ->> 'next_at' IS NOT NULL)`.execute(
    db,
  )
}

/** A time of a recovery */
export const secondsAgo = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString()
