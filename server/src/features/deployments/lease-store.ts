import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { Lease } from './change-store.ts'
import type { Deployment } from './store.ts'

/** Leases all deployments that are due and free, at most `limit`, the longest due first. */
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

/** Ends the leases of all workers whose name begins with `place`, so that what they held is looked at without delay. */
export async function endLeasesFrom(db: Database, place: string): Promise<void> {
  await db
    .updateTable('deployments')
    .set({ leased_by: null, leased_until: null, lease_number: sql`lease_number + 1` })
    .where(sql<boolean>`starts_with(leased_by, ${place})`)
    .execute()
}

/**
 * Keeps what `worker` holds of `ids` for another `leaseSeconds`; a lease that ran out meanwhile and was taken by another stays
 * lost, and one that the worker no longer works on runs out.
 */
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
 * Gives a lease back with the next look in `waitMilliseconds`, null for none. Where the deployment has left the status that was
 * looked at, or was hurried, the earlier look stands.
 */
export async function returnLease(
  db: Database,
  lease: Lease,
  seen: { status: Deployment['status']; reconcileAt: Date | null },
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
      reconcile_at: sql`CASE WHEN status = ${seen.status}
        AND date_trunc('milliseconds', reconcile_at) IS NOT DISTINCT FROM ${seen.reconcileAt}
        THEN ${next} ELSE reconcile_at END`,
    })
    .where('id', '=', lease.deploymentId)
    .where('lease_number', '=', lease.number)
    .execute()
}

function leaseEnd(seconds: number) {
  return sql<Date>`now() + make_interval(secs => ${seconds})`
}
