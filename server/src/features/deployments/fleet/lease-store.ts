import { sql } from 'kysely'
import type { Database } from '../../../database/tables.ts'
import type { Lease } from '../state/change-store.ts'
import { listLiveInstances } from '../state/instance-store.ts'
import type { ScheduledInstance } from '../state/instance-store.ts'
import { findDeployment } from '../state/store.ts'
import type { Deployment } from '../state/store.ts'
import { isHardwareAwaited } from './yielding.ts'

/** A deployment whose lease a worker has, and its live instances, oldest first. */
export type LeasedDeployment = Deployment & {
  instances: readonly ScheduledInstance[]
  /** False: no instance waits for hardware that others give up. True: a step must ask the database. */
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
  // Read under the lease, which keeps other workers from changing them.
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

/** Revokes the leases of workers with this name prefix, so that others take their deployments at once. */
export async function revokeLeases(db: Database, workerPrefix: string): Promise<void> {
  // The database may still run a change of a worker that was killed.
  const held = lockInOrder(db).where(sql<boolean>`starts_with(leased_by, ${workerPrefix})`)
  await db
    .updateTable('deployments')
    .set({ leased_by: null, leased_until: null, lease_number: sql`lease_number + 1` })
    .where('id', 'in', held)
    .execute()
}

/** Extends the worker's leases on `ids`. Leases that another worker has taken over stay lost. */
export async function renewLeases(
  db: Database,
  worker: string,
  ids: readonly string[],
  leaseSeconds: number,
): Promise<void> {
  if (ids.length === 0) return
  const held = lockInOrder(db).where('leased_by', '=', worker).where('id', 'in', ids)
  await db
    .updateTable('deployments')
    .set({ leased_until: leaseEnd(leaseSeconds) })
    .where('leased_by', '=', worker)
    .where('id', 'in', held)
    .execute()
}

/** Selects deployments and locks them in the order in which changes lock several of them. */
function lockInOrder(db: Database) {
  return db.selectFrom('deployments').select('id').orderBy('id').forNoKeyUpdate()
}

/** When an instance is due next, in milliseconds from now; null for never. */
export interface NextStep {
  instanceId: string
  waitMilliseconds: number | null
}

/** The end of a pass. */
export interface LeaseRelease {
  lease: Lease
  /** What the pass has read or written last */
  expected: { status: Deployment['status']; reconcileAt: Date | null }
  steps: readonly NextStep[]
  /** Milliseconds until the next attempt of a deployment without an instance; null for none */
  pause?: number | null
}

/**
 * Releases leases and schedules each deployment's next pass for the first of its next steps. A changed status
 * or `reconcile_at` keeps its schedule. Returns for each whether it is due again already.
 */
export async function releaseLeases(db: Database, releases: readonly LeaseRelease[]): Promise<boolean[]> {
  const rows = releases.map(({ lease, expected, steps, pause = null }) => ({
    id: lease.deploymentId,
    lease_number: lease.number,
    status: expected.status,
    reconcile_at: expected.reconcileAt,
    seconds: toSeconds(pause ?? findShortest(steps)),
  }))
  const steps = releases.flatMap(({ lease, steps: each }) =>
    // A single instance is due with its deployment.
    each.length < 2 ? [] : each.map((step) => toDueRow(lease, step)),
  )
  const { rows: due } = await sql<{ id: string }>`
    WITH release AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
        AS release (id uuid, lease_number bigint, status text, reconcile_at timestamptz, seconds float8)
    ), locked AS MATERIALIZED (
      SELECT id FROM deployments JOIN release USING (id, lease_number) ORDER BY id FOR NO KEY UPDATE OF deployments
    ), released AS (
      UPDATE deployments SET leased_by = NULL, leased_until = NULL,
        reconcile_at = CASE WHEN deployments.status = release.status
          AND date_trunc('milliseconds', deployments.reconcile_at) IS NOT DISTINCT FROM release.reconcile_at
          THEN now() + make_interval(secs => release.seconds) ELSE deployments.reconcile_at END
      FROM release JOIN locked USING (id)
      WHERE deployments.id = release.id AND deployments.lease_number = release.lease_number
      RETURNING deployments.id AS deployment_id, deployments.lease_number,
        deployments.reconcile_at <= now() AS is_due
    ), scheduled AS (
      UPDATE instances SET due_at = now() + make_interval(secs => step.seconds)
      FROM jsonb_to_recordset(${JSON.stringify(steps)}::jsonb)
        AS step (id uuid, deployment_id uuid, lease_number bigint, seconds float8)
        JOIN released USING (deployment_id, lease_number)
      WHERE instances.id = step.id
    )
    SELECT deployment_id AS id FROM released WHERE is_due`.execute(db)
  const ids = new Set(due.map(({ id }) => id))
  return releases.map(({ lease }) => ids.has(lease.deploymentId))
}

function toDueRow({ deploymentId, number }: Lease, { instanceId, waitMilliseconds }: NextStep) {
  return {
    id: instanceId,
    deployment_id: deploymentId,
    lease_number: number,
    seconds: toSeconds(waitMilliseconds),
  }
}

function findShortest(steps: readonly NextStep[]): number | null {
  const waits = steps.flatMap(({ waitMilliseconds: wait }) => (wait === null ? [] : [wait]))
  return waits.length === 0 ? null : Math.min(...waits)
}

const toSeconds = (milliseconds: number | null) => (milliseconds === null ? null : milliseconds / 1000)

function leaseEnd(seconds: number) {
  return sql<Date>`now() + make_interval(secs => ${seconds})`
}
