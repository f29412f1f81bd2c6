import { sql } from 'kysely'
import type { Updateable, UpdateObject } from 'kysely'
import type { Database, DatabaseTransaction, Tables } from '../../database/tables.ts'
import type { DeploymentStatus, NextStatus } from './lifecycle.ts'
import type { Deployment } from './store.ts'
import type { DeploymentsTable } from './tables.ts'

/** What a step may write: all but the status, which only moves, and the lease. */
export type DeploymentChanges = Omit<
  Updateable<DeploymentsTable>,
  'id' | 'status' | 'updated_at' | 'status_changed_at' | 'leased_by' | 'leased_until' | 'lease_number'
>

/** What is told of a change in the deployment's history. */
export interface EventText {
  stage: string | null
  message: string
}

/** What else is written exactly if a change of a deployment is, in the same transaction. */
export type Alongside = (transaction: DatabaseTransaction, changed: Deployment) => Promise<void>

/** The right to reconcile one deployment: writes under a number that is no longer the row's do nothing. */
export interface Lease {
  deploymentId: string
  number: number
}

/**
 * Moves a deployment from one status to a legal next one, with an event. Undefined when it is no longer in `from`, or no longer
 * under the lease: somebody else moved first. A move without a lease wakes a worker; whoever holds one goes on by itself.
 */
export async function moveDeployment<From extends DeploymentStatus>(
  db: Database,
  move: { id: string; from: From; to: NextStatus<From>; lease?: Lease; at: Date },
  changes: DeploymentChanges,
  event: EventText,
  alongside?: Alongside,
): Promise<Deployment | undefined> {
  const { id, from, lease, at } = move
  const to: DeploymentStatus = move.to
  const set = {
    reconcile_at: sql<Date>`now()`,
    ...withProgress(changes),
    status: to,
    updated_at: at,
    status_changed_at: at,
  }
  return changeDeployment(db, { id, status: from, lease, set, event, at }, alongside)
}

/** Writes facts about a deployment that stays in its status; undefined when it has left it, or the lease is lost. */
export async function updateDeployment(
  db: Database,
  lease: Lease,
  status: DeploymentStatus,
  changes: DeploymentChanges,
  event: EventText | null,
  at: Date,
  alongside?: Alongside,
): Promise<Deployment | undefined> {
  const set = { ...withProgress(changes), updated_at: at }
  return changeDeployment(db, { id: lease.deploymentId, status, lease, set, event, at }, alongside)
}

/** Progress is of what the message says: another message without one ends it. */
function withProgress(changes: DeploymentChanges): DeploymentChanges {
  return changes.status_message === undefined ? changes : { progress: null, ...changes }
}

interface Change {
  id: string
  /** The status that it must be in */
  status: DeploymentStatus
  lease: Lease | undefined
  set: UpdateObject<Tables, 'deployments'>
  event: EventText | null
  at: Date
}

function changeDeployment(
  db: Database,
  change: Change,
  alongside: Alongside | undefined,
): Promise<Deployment | undefined> {
  if (alongside === undefined) return writeChange(db, change)
  return db.transaction().execute(async (transaction) => {
    const changed = await writeChange(transaction, change)
    if (changed !== undefined) await alongside(transaction, changed)
    return changed
  })
}

/** One statement for the row, the event and who is told: of many deployments it is the round trips that cost. */
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
    .with('told', (query) =>
      query
        .insertInto('deployment_events')
        .columns(['deployment_id', 'at', 'status', 'stage', 'message'])
        .expression((build) =>
          build
            .selectFrom('changed')
            .select((columns) => [
              'id',
              columns.cast<Date>(columns.val(at), 'timestamptz').as('at'),
              'status',
              columns.cast<string | null>(columns.val(event?.stage ?? null), 'text').as('stage'),
              columns.cast<string>(columns.val(event?.message ?? ''), 'text').as('message'),
            ])
            .where(sql<boolean>`${event !== null}::boolean`),
        )
        .returning('deployment_id'),
    )
    .selectFrom('changed')
    .leftJoin('told', 'told.deployment_id', 'changed.id')
    .selectAll('changed')
    .select([
      sql`CASE WHEN told.deployment_id IS NOT NULL THEN pg_notify('deployment_event', id::text) END`.as(
        'told',
      ),
      sql`CASE WHEN ${lease === undefined}::boolean THEN pg_notify('deployment_due', id::text) END`.as(
        'woken',
      ),
    ])
    .executeTakeFirst()
  if (changed === undefined) return undefined
  const { told: _, woken: __, ...row } = changed
  return row
}
