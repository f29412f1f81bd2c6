import { sql } from 'kysely'
import type { Insertable, Selectable, Updateable, UpdateObject } from 'kysely'
import { notify } from '../../database/notifications.ts'
import type { Database, DatabaseTransaction, Tables } from '../../database/tables.ts'
import type { DeploymentStatus, NextStatus } from './lifecycle.ts'

export type Deployment = Selectable<Tables['deployments']>
/** What is shown of a deployment; not the whole variant, which is large. */
export type ShownDeployment = Pick<Deployment, (typeof shownColumns)[number]>
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

const shownColumns = [
  'id',
  'user_id',
  'organization_id',
  'cluster_id',
  'instance_id',
  'gpu_allocation_id',
  'model_name',
  'model_format',
  'model_size_in_billions',
  'quantization',
  'inference_model_uid',
  'status',
  'status_message',
  'progress',
  'selected_instance_type',
  'selection_reason',
  'failure_stage',
  'failure_reason',
  'created_at',
  'updated_at',
  'terminated_at',
] as const satisfies (keyof Deployment)[]

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
  { limit, offset, active }: { limit: number; offset: number; active: boolean },
): Promise<{ items: ShownDeployment[]; total: number }> {
  const [items, total] = await Promise.all([
    db
      .selectFrom('deployments')
      .select(shownColumns)
      .where('user_id', '=', userId)
      .$if(active, (query) => query.where('status', '<>', sql.lit('terminated' as const)))
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .offset(offset)
      .execute(),
    active ? countUnterminated(db, userId) : countAll(db, userId),
  ])
  return { items, total }
}

async function countAll(db: Database, userId: number): Promise<number> {
  const counts = db.selectFrom('deployment_counts').select('total')
  return (await counts.where('user_id', '=', userId).executeTakeFirst())?.total ?? 0
}

async function countUnterminated(db: Database, userId: number): Promise<number> {
  const { count } = await db
    .selectFrom('deployments')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('status', '<>', sql.lit('terminated' as const))
    .executeTakeFirstOrThrow()
  return count
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

/** How many deployments have a next look ahead of them: all that run or are on their way. */
export async function countScheduledDeployments(db: Database): Promise<number> {
  const { count } = await db
    .selectFrom('deployments')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('reconcile_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return count
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
