import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { Lease } from './change-store.ts'
import type { Deployment } from './store.ts'

/** Leases up to `limit` due deployments, the longest overdue first. */
export async function leaseDueDeployments(
  db: Database,
  worker: string,
  leaseSeconds: number,
  limit: number,
): Promise<Deployment[]> {
  const due = db
    .selectFrom('deployments')
    .select('id')
    .where('reconcile_at', '<=', sql<Date>`now()`)
    .where((where) =>
      where.or([where('leased_until', 'is', null), where('leased_until', '<', sql<Date>`now()`)]),
    )
    .orderBy('reconcile_at')
    .limit(limit)
    .forUpdate()
    .skipLocked()
  return db
    .updateTable('deployments')
    .set({
      leased_by: worker,
      leased_until: leaseEnd(leaseSeconds),
      lease_number: sql`lease_number + 1`,
    })
    .where('id', 'in', due)
    .returningAll()
    .execute()
}

/** Revokes the leases of all workers whose name starts with `workerPrefix`, so that their deployments are picked up without delay. */
export async function revokeLeases(db: Database, workerPrefix: string): Promise<void> {
  await db
    .updateTable('deployments')
    .set({ leased_by: null, leased_until: null, lease_number: sql`lease_number + 1` })
    .where(sql<boolean>`starts_with(leased_by, ${workerPrefix})`)
    .execute()
}

/** Extends the worker's leases on `ids` by `leaseSeconds`. Leases that another worker has taken over stay lost. */
export async function renewLeases(
  db: Database,
  worker: string,
  ids: readonly string[],
  leaseSeconds: number,
): Promise<void> {
  if (ids.length === 0) return
  await db
    .updateTable('deployments')
    .set({ leased_until: leaseEnd(leaseSeconds) })
    .where('leased_by', '=', worker)
    .where('id', 'in', ids)
    .execute()
}

/**
 * Releases a lease and schedules the next pass in `waitMilliseconds` (null for none). If the status or `reconcile_at` has changed
 * since `expected` was read, the existing schedule stays.
 */
export async function releaseLease(
  db: Database,
  lease: Lease,
  expected: { status: Deployment['status']; reconcileAt: Date | null },
  waitMilliseconds: number | null,
): Promise<void> {
  const next =
    waitMilliseconds === null
      ? sql<Date | null>`NULL`
      : sql<Date>`now() + make_interval(secs => ${waitMilliseconds / 1000})`
  await db
    .updateTable('deployments')
    .set({
      leased_by: null,
      leased_until: null,
      reconcile_at: sql`CASE WHEN status = ${expected.status}
        AND date_trunc('milliseconds', reconcile_at) IS NOT DISTINCT FROM ${expected.reconcileAt}
        THEN ${next} ELSE reconcile_at END`,
    })
    .where('id', '=', lease.deploymentId)
    .where('lease_number', '=', lease.number)
    .execute()
}

function leaseEnd(seconds: number) {
  return sql<Date>`now() + make_interval(secs => ${seconds})`
}
