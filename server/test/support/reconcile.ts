import { sql } from 'kysely'
import { expect, vi } from 'vitest'
import { notify } from '../../src/database/notifications.ts'
import type { TestServer } from './server.ts'

/** Lets the worker look at a deployment now instead of at its next check. */
export async function makeDue({ application: { db } }: TestServer, id: string): Promise<void> {
  await sql`UPDATE instances SET due_at = now() WHERE deployment_id = ${id}`.execute(db)
  await sql`UPDATE deployments SET reconcile_at = now() WHERE id = ${id}`.execute(db)
  await notify(db, 'deployment_due', id)
}

/** Waits until the worker has looked at a deployment. */
export async function checkNow(server: TestServer, id: string): Promise<void> {
  const read = () =>
    server.application.db
      .selectFrom('deployments')
      .select(['lease_number', 'leased_by'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
  // A pass may be running, which does not see what the test has just changed.
  await vi.waitFor(async () => expect((await read()).leased_by).toBeNull(), { timeout: 30_000, interval: 20 })
  const { lease_number: before } = await read()
  await makeDue(server, id)
  await vi.waitFor(
    async () => {
      const { lease_number: now, leased_by: worker } = await read()
      expect([now > before, worker]).toEqual([true, null])
    },
    { timeout: 30_000, interval: 20 },
  )
}
