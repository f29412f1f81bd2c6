import { sql } from 'kysely'
import type { Updateable, UpdateObject } from 'kysely'
import type { Database, DatabaseTransaction, Tables } from '../../database/tables.ts'
import type { DeploymentStatus, NextStatus } from './lifecycle.ts'
import type { Deployment } from './store.ts'
import type { DeploymentsTable } from './tables.ts'
import { toWaitingColumns } from './waiting.ts'
import type { Waiting } from './waiting.ts'

/** The columns that a step may update: all except the lease and the status, which has its own function. */
export type DeploymentChanges = Omit<
  Updateable<DeploymentsTable>,
  | 'id'
  | 'status'
  | 'updated_at'
  | 'status_changed_at'
  | 'leased_by'
  | 'leased_until'
  | 'lease_number'
  | keyof ReturnType<typeof toWaitingColumns>
> & {
  /** What the next step waits for, null for nothing */
  waiting?: Waiting | null
}

/** The text of a new event in the deployment's history. */
export interface EventContent {
  stage: string | null
  message: string
  /** The instance type that was chosen */
  instanceType?: string
}

/** Further writes in the same transaction, run only if the deployment was updated. */
export type TransactionHook = (transaction: DatabaseTransaction, changed: Deployment) => Promise<void>

/** The right to reconcile one deployment. `number` is a fencing token: writes with an outdated number change nothing. */
export interface Lease {
  deploymentId: string
  number: number
}

/**
 * Moves a deployment to another status, where it waits for nothing yet, and records an event. Returns undefined if the deployment has left `from` or the lease is
 * outdated. Without a lease, notifies the workers; a lease holder continues by itself.
 */
export async function transitionDeployment<From extends DeploymentStatus>(
  db: Database,
  transition: { id: string; from: From; to: NextStatus<From>; lease?: Lease; at: Date },
  changes: DeploymentChanges,
  event: EventContent,
  hook?: TransactionHook,
): Promise<Deployment | undefined> {
  const { id, from, lease, at } = transition
  const to: DeploymentStatus = transition.to
  const set = {
    reconcile_at: sql<Date>`now()`,
    ...toColumns({ waiting: null, ...changes }),
    status: to,
    updated_at: at,
    status_changed_at: at,
  }
  return changeDeployment(db, { id, status: from, lease, set, event, at }, hook)
}

/** Updates a deployment without changing its status. Returns undefined if it has left `status` or the lease is outdated. */
export async function updateDeployment(
  db: Database,
  lease: Lease,
  status: DeploymentStatus,
  changes: DeploymentChanges,
  event: EventContent | null,
  at: Date,
  hook?: TransactionHook,
): Promise<Deployment | undefined> {
  const set = { ...toColumns(changes), updated_at: at }
  return changeDeployment(db, { id: lease.deploymentId, status, lease, set, event, at }, hook)
}

/** Updates a deployment for its owner and notifies the workers. Returns undefined if it has left `status`. */
export async function updateOwnDeployment(
  db: Database,
  { id, status }: { id: string; status: DeploymentStatus },
  changes: DeploymentChanges,
  event: EventContent,
  at: Date,
  hook?: TransactionHook,
): Promise<Deployment | undefined> {
  const set = { reconcile_at: sql<Date>`now()`, ...toColumns(changes), updated_at: at }
  return changeDeployment(db, { id, status, lease: undefined, set, event, at }, hook)
}

function toColumns({ waiting, ...columns }: DeploymentChanges) {
  return waiting === undefined ? columns : { ...columns, ...toWaitingColumns(waiting) }
}

interface Change {
  id: string
  /** The required current status */
  status: DeploymentStatus
  lease: Lease | undefined
  set: UpdateObject<Tables, 'deployments'>
  event: EventContent | null
  at: Date
}

function changeDeployment(
  db: Database,
  change: Change,
  hook: TransactionHook | undefined,
): Promise<Deployment | undefined> {
  if (hook === undefined) return writeChange(db, change)
  return db.transaction().execute(async (transaction) => {
    const changed = await writeChange(transaction, change)
    if (changed !== undefined) await hook(transaction, changed)
    return changed
  })
}

/** Updates the row, inserts the event and sends the notifications in one statement, to save round trips. */
async function writeChange(
  db: Database,
  { id, status, lease, set, event, at }: Change,
): Promise<Deployment | undefined> {
  const changed = await db
    .with('changed', (query) => {
      const update = query
        .updateTable('deployments')
        .set(set)
        .where('id', '=', id)
        .where('status', '=', status)
      return (lease === undefined ? update : update.where('lease_number', '=', lease.number)).returningAll()
    })
    .with('event', (query) =>
      query
        .insertInto('deployment_events')
        .columns(['deployment_id', 'at', 'status', 'stage', 'message', 'instance_type'])
        .expression((build) =>
          build
            .selectFrom('changed')
            .select((columns) => [
              'id',
              columns.cast<Date>(columns.val(at), 'timestamptz').as('at'),
              'status',
              columns.cast<string | null>(columns.val(event?.stage ?? null), 'text').as('stage'),
              columns.cast<string>(columns.val(event?.message ?? ''), 'text').as('message'),
              columns
                .cast<string | null>(columns.val(event?.instanceType ?? null), 'text')
                .as('instance_type'),
            ])
            .where(sql<boolean>`${event !== null}::boolean`),
        )
        .returning('deployment_id'),
    )
    .selectFrom('changed')
    .leftJoin('event', 'event.deployment_id', 'changed.id')
    .selectAll('changed')
    .select([
      sql`CASE WHEN event.deployment_id IS NOT NULL THEN pg_notify('deployment_event', id::text) END`.as(
        'event_notified',
      ),
      sql`CASE WHEN ${lease === undefined}::boolean THEN pg_notify('deployment_due', id::text) END`.as(
        'due_notified',
      ),
    ])
    .executeTakeFirst()
  if (changed === undefined) return undefined
  const { event_notified: _, due_notified: __, ...row } = changed
  return row
}
