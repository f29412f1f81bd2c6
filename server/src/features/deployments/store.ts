import { sql } from 'kysely'
import type { Insertable, Selectable, Updateable } from 'kysely'
import { notify } from '../../database/notifications.ts'
import type { Database, DatabaseTransaction, Tables } from '../../database/tables.ts'
import type { DeploymentStatus, NextStatus } from './lifecycle.ts'

export type Deployment = Selectable<Tables['deployments']>
export type DeploymentEvent = Selectable<Tables['deployment_events']>
export type DeploymentChanges = Omit<
  Updateable<Tables['deployments']>,
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

/** Inserts a deployment that is due at once, by the database's clock as workers go by it. */
export async function insertDeployment(
  db: Database,
  row: Omit<Insertable<Tables['deployments']>, 'reconcile_at'>,
  message: string,
): Promise<Deployment> {
  const inserted = await db
    .insertInto('deployments')
    .values({ ...row, reconcile_at: sql<Date>`now()` })
    .returningAll()
    .executeTakeFirstOrThrow()
  await insertEvent(db, inserted, { stage: null, message }, row.created_at)
  await notify(db, 'deployment_due', inserted.id)
  return inserted
}

export function findDeployment(db: Database, id: string): Promise<Deployment | undefined> {
  return db.selectFrom('deployments').selectAll().where('id', '=', id).executeTakeFirst()
}

export function findOwnDeployment(db: Database, userId: number, id: string): Promise<Deployment | undefined> {
  return db
    .selectFrom('deployments')
    .selectAll()
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst()
}

export async function listOwnDeployments(
  db: Database,
  userId: number,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ items: Deployment[]; total: number }> {
  const own = db.selectFrom('deployments').where('user_id', '=', userId)
  const [items, counted] = await Promise.all([
    own.selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).offset(offset).execute(),
    own.select((count) => count.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
  return { items, total: counted.total }
}

/** A user's deployments that a request's `model` may mean, by id, engine's uid or model's name, newest first; none that is ending. */
export function listNamedDeployments(db: Database, userId: number, name: string): Promise<Deployment[]> {
  return db
    .selectFrom('deployments')
    .selectAll()
    .where('user_id', '=', userId)
    .where('status', 'not in', ['terminating', 'terminated'])
    .where((where) =>
      where.or([
        where(sql<string>`id::text`, '=', name),
        where('inference_model_uid', '=', name),
        where('model_name', '=', name),
      ]),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}

export function listRunningDeployments(db: Database, userId: number): Promise<Deployment[]> {
  return db
    .selectFrom('deployments')
    .selectAll()
    .where('user_id', '=', userId)
    .where('status', '=', 'running')
    .orderBy('created_at', 'desc')
    .execute()
}

/** Which of these ids are deployments that may hold compute. */
export async function listHolders(db: Database, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db
    .selectFrom('deployments')
    .select('id')
    .where('id', 'in', ids)
    .where('status', '!=', 'terminated')
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/**
 * Moves a deployment from one status to a legal next one, with an event, and wakes a worker. Undefined when it is no longer in
 * `from`, or no longer under the lease: somebody else moved first.
 */
export async function moveDeployment<From extends DeploymentStatus>(
  db: Database,
  move: { id: string; from: From; to: NextStatus<From>; lease?: Lease; at: Date },
  changes: DeploymentChanges,
  event: EventText,
  alongside?: Alongside,
): Promise<Deployment | undefined> {
  return db.transaction().execute(async (transaction) => {
    let update = transaction
      .updateTable('deployments')
      .set({
        reconcile_at: sql`now()`,
        ...changes,
        status: move.to,
        updated_at: move.at,
        status_changed_at: move.at,
      })
      .where('id', '=', move.id)
      .where('status', '=', move.from)
    if (move.lease !== undefined) update = update.where('lease_number', '=', move.lease.number)
    const moved = await update.returningAll().executeTakeFirst()
    if (moved === undefined) return undefined
    await insertEvent(transaction, moved, event, move.at)
    await alongside?.(transaction, moved)
    await notify(transaction, 'deployment_due', moved.id)
    return moved
  })
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
  return db.transaction().execute(async (transaction) => {
    const updated = await transaction
      .updateTable('deployments')
      .set({ ...changes, updated_at: at })
      .where('id', '=', lease.deploymentId)
      .where('status', '=', status)
      .where('lease_number', '=', lease.number)
      .returningAll()
      .executeTakeFirst()
    if (updated === undefined) return undefined
    if (event !== null) await insertEvent(transaction, updated, event, at)
    await alongside?.(transaction, updated)
    return updated
  })
}

async function insertEvent(
  db: Database,
  deployment: { id: string; status: DeploymentStatus },
  event: EventText,
  at: Date,
): Promise<void> {
  await db
    .insertInto('deployment_events')
    .values({ deployment_id: deployment.id, at, status: deployment.status, ...event })
    .execute()
  await notify(db, 'deployment_event', deployment.id)
}

/** The events of a deployment after the one with the id `after`, oldest first. */
export function listEvents(db: Database, deploymentId: string, after: number): Promise<DeploymentEvent[]> {
  return db
    .selectFrom('deployment_events')
    .selectAll()
    .where('deployment_id', '=', deploymentId)
    .where('id', '>', after)
    .orderBy('id')
    .execute()
}

export function findLastEvent(db: Database, deploymentId: string): Promise<DeploymentEvent | undefined> {
  return db
    .selectFrom('deployment_events')
    .selectAll()
    .where('deployment_id', '=', deploymentId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Has a worker look at a running deployment now: its engine did not answer. */
export async function hurryDeployment(db: Database, id: string): Promise<void> {
  await db
    .updateTable('deployments')
    .set({ reconcile_at: sql`now()` })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .execute()
  await notify(db, 'deployment_due', id)
}
