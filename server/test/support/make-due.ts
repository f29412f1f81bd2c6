import { sql } from 'kysely'
import { notify } from '../../src/database/notifications.ts'
import type { TestServer } from './server.ts'

/** Lets the worker look at a deployment now instead of at its next check. */
export async function makeDue({ application: { db } }: TestServer, id: string): Promise<void> {
  await sql`UPDATE instances SET due_at = now() WHERE deployment_id = ${id}`.execute(db)
  await sql`UPDATE deployments SET reconcile_at = now() WHERE id = ${id}`.execute(db)
  await notify(db, 'deployment_due', id)
}
