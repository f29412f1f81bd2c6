import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { Lease } from './change-store.ts'
import { listLiveInstances } from './instances/store.ts'
import type { ScheduledInstance } from './instances/store.ts'
import { findDeployment } from './store.ts'
import type { Deployment } from './store.ts'
import { isHardwareAwaited } from './yielding.ts'

/** A deployment whose lease a worker has, and its live instances, oldest first. */
export type LeasedDeployment = Deployment & {
  instances: readonly ScheduledInstance[]
  /** An instance of some deployment may wait for hardware that others give up. */
  isHardwareAwaited: boolean
}

/** Leases up to `limit` due deployments, the longest overdue first. */
export async function leaseDueDeployments(
  db: Database,
  worker: string,
  leaseSeconds: number,
  limit: number,
): Promise<LeasedDeployment[]> {
  const leased = await takeLeases(db, worker, leaseSeconds, limit)
  // Read afterwards: nobody else may change them now.
  const instances = await listLiveInstances(
    db,
    leased.map(({ id }) => id),
  )
  return leased.map((deployment) => ({ ...deployment, instances: instances.get(deployment.id) ?? [] }))
}

/** Reads a leased deployment again. */
export async function readLeased(db: Database, id: string): Promise<LeasedDeployment | undefined> {
  const deployment = await findDeployment(db, id)
  if (deployment === undefined) return undefined
  return {
    ...deployment,
    isHardwareAwaited: true,
    instances: (await listLiveInstances(db, [id])).get(id) ?? [],
  }
}

function takeLeases(
  db: Database,
  worker: string,
  leaseSeconds: number,
  limit: number,
): Promise<Omit<LeasedDeployment, 'instances'>[]> {
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
    .returning(isHardwareAwaited.as('isHardwareAwaited'))
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

/** When an instance is due next, in milliseconds from now; null for never. */
export interface NextStep {
  instanceId: string
  waitMilliseconds: number | null
}

/**
 * Releases a lease and schedules the next pass for the first of the next steps. If the status or `reconcile_at` has changed since
 * `expected` was read, the existing schedule stays.
 */
export async function releaseLease(
  db: Database,
  lease: Lease,
  expected: { status: Deployment['status']; reconcileAt: Date | null },
  steps: readonly NextStep[],
): Promise<void> {
  const waits = steps.flatMap(({ waitMilliseconds: wait }) => (wait === null ? [] : [wait]))
  const next = waits.length === 0 ? sql<Date | null>`NULL` : after(Math.min(...waits))
  const released = db
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
  // A single instance is due with its deployment.
  if (steps.length < 2) return void (await released.execute())
  const due = sql.join(
    steps.map(
      ({ instanceId, waitMilliseconds: wait }) =>
        sql`(${instanceId}::uuid, ${wait === null ? null : wait / 1000}::float8)`,
    ),
  )
  await sql`
    WITH released AS (${released.returning('id')})
    UPDATE instances SET due_at = now() + make_interval(secs => step.seconds)
    FROM (VALUES ${due}) AS step (id, seconds), released
    WHERE instances.id = step.id`.execute(db)
}

function after(milliseconds: number) {
  return sql<Date>`now() + make_interval(secs => ${milliseconds / 1000})`
}

function leaseEnd(seconds: number) {
  return sql<Date>`now() + make_interval(secs => ${seconds})`
}
