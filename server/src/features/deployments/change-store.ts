import { sql } from 'kysely'
import type { Updateable, UpdateObject } from 'kysely'
import type { Database, DatabaseTransaction, Tables } from '../../database/tables.ts'
import type { EventTransition } from './event-transition.ts'
import type { DeploymentStatus, WantedState } from './lifecycle.ts'
import type { Deployment } from './store.ts'
import type { DeploymentsTable, InstancesTable } from './tables.ts'

/** The columns of a deployment that a change may set: all except the lease and times that follow. */
export type DeploymentChanges = Omit<
  Updateable<DeploymentsTable>,
  'id' | 'updated_at' | 'status_changed_at' | 'leased_by' | 'leased_until' | 'lease_number'
>

/** A change of one instance of the deployment in the same statement. */
export interface InstanceWrite {
  id: string
  set: Updateable<InstancesTable>
}

/** The text of a new event in the deployment's history. */
export interface EventContent {
  stage: string | null
  message: string
  /** What begins or ends with the event. It may take the place of `message` (`describeEvent`). */
  transition?: EventTransition
  /** The instance type that was chosen */
  instanceType?: string
}

/** Further writes in the same transaction, run only if the deployment was updated. */
export type TransactionHook = (transaction: DatabaseTransaction, changed: Deployment) => Promise<void>

/**
 * The right to reconcile one deployment and to change its instances. `number` is a fencing token: writes with an outdated number change
 * nothing.
 */
export interface Lease {
  deploymentId: string
  number: number
}

interface Change {
  id: string
  /** The required current status */
  status: DeploymentStatus
  /** The required current number of wished instances, if it matters */
  wished_instances?: number | undefined
  /** What the owner must want so far, if it matters: a deployment that falls asleep has the same status as before */
  wanted?: WantedState | undefined
  /** null for a change by people, which notifies the workers; a lease holder continues by itself. */
  lease: Lease | null
  changes: DeploymentChanges
  instance?: InstanceWrite | undefined
  /** The deployment is due immediately if its worker stops after this change */
  isDue: boolean
  event: EventContent | null
  at: Date
}

/**
 * Changes a deployment and one of its instances together, and records an event. Returns undefined if the deployment has left `status` or
 * the lease is outdated.
 */
export function writeDeployment(
  db: Database,
  change: Change,
  hook?: TransactionHook,
): Promise<Deployment | undefined> {
  if (hook === undefined) return writeChange(db, change)
  return db.transaction().execute(async (transaction) => {
    const changed = await writeChange(transaction, change)
    if (changed !== undefined) await hook(transaction, changed)
    return changed
  })
}

/** Updates a deployment for a person and notifies the workers. Returns undefined if it is not as `current` says. */
export async function updateOwnDeployment(
  db: Database,
  current: Pick<Change, 'id' | 'status' | 'wished_instances' | 'wanted'>,
  changes: DeploymentChanges,
  event: EventContent | null,
  at: Date,
  hook?: TransactionHook,
): Promise<Deployment | undefined> {
  return writeDeployment(db, { ...current, lease: null, changes, isDue: true, event, at }, hook)
}

/** Updates the rows, inserts the event and sends the notifications in one statement, to save round trips. */
async function writeChange(db: Database, change: Change): Promise<Deployment | undefined> {
  const { id, lease, event, at } = change
  const updated = db.with('changed', (query) => {
    const update = query
      .updateTable('deployments')
      .set(toColumns(change))
      .where('id', '=', id)
      .where('status', '=', change.status)
      .$if(change.wished_instances !== undefined, (each) =>
        each.where('wished_instances', '=', change.wished_instances!),
      )
      .$if(change.wanted !== undefined, (each) => each.where('wanted', '=', change.wanted!))
    return (lease === null ? update : update.where('lease_number', '=', lease.number)).returningAll()
  })
  const changed = await withInstance(updated, change.instance)
    .with('event', (query) =>
      query
        .insertInto('deployment_events')
        .columns(['deployment_id', 'at', 'status', 'stage', 'message', 'instance_type', 'transition'])
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
              sql<string | null>`${toJson(event?.transition)}::jsonb`.as('transition'),
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
      sql`CASE WHEN ${lease === null}::boolean THEN pg_notify('deployment_due', id::text) END`.as(
        'due_notified',
      ),
    ])
    .executeTakeFirst()
  if (changed === undefined) return undefined
  const { event_notified: _, due_notified: __, ...row } = changed
  return row
}

const toJson = (transition: EventTransition | undefined) =>
  transition === undefined ? null : JSON.stringify(transition)

function toColumns({ status, changes, isDue, at }: Change): UpdateObject<Tables, 'deployments'> {
  const moves = changes.status !== undefined && changes.status !== status
  return {
    ...(isDue ? { reconcile_at: sql<Date>`now()` } : {}),
    ...changes,
    updated_at: at,
    ...(moves ? { status_changed_at: at } : {}),
  }
}

/** Adds the change of an instance, which happens if that of the deployment does. */
function withInstance<Query extends Pick<Database, 'with'>>(
  query: Query,
  write: InstanceWrite | undefined,
): Query {
  if (write === undefined) return query
  return query.with('instance', (each) =>
    each
      .updateTable('instances')
      .set(write.set)
      .where('id', '=', write.id)
      .where(sql<boolean>`EXISTS (SELECT FROM changed)`)
      .returning('id'),
  ) as unknown as Query
}
