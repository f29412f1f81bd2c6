import { sql } from 'kysely'
import type { Insertable, Selectable } from 'kysely'
import { notify } from '../../../database/notifications.ts'
import type { Viewer } from '../../../base/viewer.ts'
import type { Database } from '../../../database/tables.ts'
import { endpointFormat } from '../../../ports/model-variant.ts'
import { servesLora } from '../../own-models/serves-lora.ts'
import { insertInstance, makeInstance } from './instance-store.ts'
import { startingStatuses } from './lifecycle.ts'
import { isSharedTo, toSharee } from './shared-with.ts'
import type { Sharee } from './shared-with.ts'
import type { DeploymentEventsTable, DeploymentsTable } from './tables.ts'

export type Deployment = Selectable<DeploymentsTable>
/** The columns of the API's Deployment object, without the large `variant`. */
export type DeploymentSummary = Pick<Deployment, (typeof summaryColumns)[number]>
export type DeploymentEvent = Selectable<DeploymentEventsTable>
/** The columns of a list's rows */
export const summaryColumns = [
  'id',
  'user_id',
  'organization_id',
  'shared_with',
  'alias',
  'alias_order',
  'model_name',
  'model_type',
  'model_format',
  'model_size_in_billions',
  'quantization',
  'adapters',
  'engine_options',
  'engine_version',
  'managed_by',
  'managed_name',
  'inference_model_uid',
  'status',
  'waiting_for',
  'status_message',
  'progress',
  'min_instances',
  'max_instances',
  'idle_minutes',
  'yields',
  'cache_scope',
  'target_concurrency',
  'schedules',
  'refusal',
  'recovery',
  'planned_instance_type',
  'planned_reason',
  'min_context_tokens',
  'min_parallel_sequences',
  'requested_instance_type',
  'failure_stage',
  'failure_reason',
  'created_at',
  'updated_at',
  'terminated_at',
] as const satisfies (keyof Deployment)[]

/** Inserts a deployment with an instance. It is due at once by the database's clock, which workers use. */
export async function insertDeployment(
  db: Database,
  row: Omit<Insertable<DeploymentsTable>, 'reconcile_at'>,
  message: string,
): Promise<Deployment> {
  const inserted = await db
    .insertInto('deployments')
    .values({ ...row, reconcile_at: sql<Date>`now()` })
    .returningAll()
    .executeTakeFirstOrThrow()
  await insertInstance(db, makeInstance(inserted, row.created_at))
  await db
    .insertInto('deployment_events')
    .values({ deployment_id: inserted.id, at: row.created_at, status: inserted.status, stage: null, message })
    .execute()
  await notify(db, 'deployment_event', inserted.id)
  await notify(db, 'deployment_due', inserted.id)
  return inserted
}

export function findDeployment(db: Database, id: string): Promise<Deployment | undefined> {
  return db.selectFrom('deployments').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The deployments with these ids, of whomever they are. */
export function findDeployments(
  db: Database,
  ids: readonly string[],
): Promise<Pick<Deployment, 'id' | 'user_id' | 'organization_id' | 'shared_with' | 'model_format'>[]> {
  return db
    .selectFrom('deployments')
    .select(['id', 'user_id', 'organization_id', 'shared_with', 'model_format'])
    .where('id', 'in', ids)
    .execute()
}

export function getDeployment(db: Database, id: string): Promise<Deployment> {
  return db.selectFrom('deployments').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

/** The deployments for requests: a person's, or those that others share with a member. */
export type ServingScope = { ownerId: number } | { sharee: Sharee }

function selectServing(db: Database, scope: ServingScope) {
  const deployments = db.selectFrom('deployments').selectAll()
  if ('ownerId' in scope) return deployments.where('user_id', '=', scope.ownerId)
  const { sharee } = scope
  return deployments.where(isSharedTo(sharee)).where('user_id', '<>', sharee.userId)
}

/** Whether a deployment uses a server that others run. */
export function usesEndpoint({ model_format: format }: Pick<Deployment, 'model_format'>): boolean {
  return format === endpointFormat
}

/** Deployments with this id, engine uid, alias, model or LoRA, newest first, without terminating ones. */
export function listDeploymentsByName(
  db: Database,
  scope: ServingScope,
  name: string,
): Promise<Deployment[]> {
  return selectServing(db, scope)
    .where('status', 'not in', ['terminating', 'terminated'])
    .where((where) =>
      where.or([
        where(sql<string>`id::text`, '=', name),
        where('inference_model_uid', '=', name),
        where('alias', '=', name),
        where('model_name', '=', name),
        servesLora(name),
      ]),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}

/** Whether a colleague has a deployment with this alias or model name that isn't shared with the viewer. */
export async function existsUnshared(db: Database, viewer: Viewer, name: string): Promise<boolean> {
  const found = await db
    .selectFrom('deployments')
    .select('id')
    .where('organization_id', '=', viewer.organizationId)
    .where('user_id', '<>', viewer.userId)
    .where((where) => where.not(isSharedTo(toSharee(viewer))))
    .where('status', 'not in', ['terminating', 'terminated'])
    .where((where) => where.or([where('alias', '=', name), where('model_name', '=', name)]))
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/** Deployments that serve requests, or have and are started again, newest first; also the sleeping ones. */
export function listCallableDeployments(db: Database, scope: ServingScope): Promise<Deployment[]> {
  return selectServing(db, scope)
    .where((where) =>
      where.or([
        where('status', 'in', ['running', 'sleeping']),
        where.and([where('status', 'in', [...startingStatuses]), where('ran_at', 'is not', null)]),
      ]),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}

/** The name and email of each of these users, by id. */
export async function findOwners(
  db: Database,
  userIds: readonly number[],
): Promise<Map<number, { name: string; email: string }>> {
  if (userIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('users')
    .select(['id', 'name', 'email'])
    .where('id', 'in', userIds)
    .execute()
  return new Map(rows.map(({ id, name, email }) => [id, { name, email }]))
}

/** The deployments that may get more or fewer instances, fall asleep, or wake as scheduled. */
export function listScalableDeployments(db: Database): Promise<Deployment[]> {
  return db
    .selectFrom('deployments')
    .selectAll()
    .where((where) => {
      const isScheduled = sql<boolean>`schedules <> '[]'`
      const isAwake = where.and([
        where('desired_state', '=', 'awake'),
        where('status', 'in', ['provisioning', 'deploying', 'running']),
      ])
      const mayChange = where.or([
        where('max_instances', '>', 1),
        where('idle_minutes', 'is not', null),
        isScheduled,
      ])
      return where.or([
        where.and([isAwake, mayChange]),
        where.and([where('status', '=', 'sleeping'), isScheduled]),
      ])
    })
    .execute()
}

/** The number of deployments with a scheduled reconcile pass. */
export async function countScheduledDeployments(db: Database): Promise<number> {
  const { count } = await db
    .selectFrom('deployments')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('reconcile_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return count
}

/** Those of the ids whose instances may hold resources: they are not released. */
export async function findLiveInstances(db: Database, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db
    .selectFrom('instances')
    .select('id')
    .where('id', 'in', ids)
    .where('status', '<>', 'released')
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** An event, with the name of the person who woke the deployment or put it to sleep. */
export type ListedEvent = DeploymentEvent & { by: string | null }

/** The events of a deployment after the one with the id `after`, oldest first. */
export function listEvents(db: Database, deploymentId: string, after: number): Promise<ListedEvent[]> {
  return db
    .selectFrom('deployment_events')
    .leftJoin('users', (join) =>
      join.on(sql<boolean>`users.id = (transition ->> 'user_id')::bigint AND users.deleted_at IS NULL`),
    )
    .selectAll('deployment_events')
    .select('users.name as by')
    .where('deployment_id', '=', deploymentId)
    .where('deployment_events.id', '>', after)
    .orderBy('deployment_events.id')
    .execute()
}

/** A part of a deployment's history without the steps of starts and sleeps, newest first. */
export async function listActivity(
  db: Database,
  deploymentId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ items: ListedEvent[]; total: number }> {
  const matching = db
    .selectFrom('deployment_events')
    .where('deployment_id', '=', deploymentId)
    .where(
      sql<boolean>`(change IS NOT NULL OR jsonb_typeof(transition -> 'phases') = 'array' OR (transition IS NULL
        AND (stage IS NULL OR stage IN ('runtime', 'scaling', 'termination') OR status = 'failed')))`,
    )
  const [items, { total }] = await Promise.all([
    matching
      .leftJoin('users', (join) =>
        join.on(
          sql<boolean>`users.id = (coalesce(transition, change) ->> 'user_id')::bigint AND users.deleted_at IS NULL`,
        ),
      )
      .selectAll('deployment_events')
      .select('users.name as by')
      .orderBy('deployment_events.id', 'desc')
      .limit(limit)
      .offset(offset)
      .execute(),
    matching.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
  return { items, total }
}

/** For each of the deployments, the events since it last ran or slept, with that one, oldest first. */
export async function listStartEvents(
  db: Database,
  deploymentIds: readonly string[],
): Promise<DeploymentEvent[][]> {
  const { rows } = await sql<DeploymentEvent>`
    SELECT event.* FROM unnest(${deploymentIds}::uuid[]) AS start (deployment_id), LATERAL (
      SELECT * FROM deployment_events WHERE deployment_id = start.deployment_id AND id >= coalesce(
        (SELECT max(id) FROM deployment_events
          WHERE deployment_id = start.deployment_id AND status IN ('running', 'sleeping')), 0)
    ) AS event ORDER BY id`.execute(db)
  const events = Map.groupBy(rows, ({ deployment_id: id }) => id)
  return deploymentIds.map((id) => events.get(id) ?? [])
}

/** The event with which the last wake or sleep of a deployment began or ended. */
export function findLastTransition(db: Database, deploymentId: string): Promise<DeploymentEvent | undefined> {
  return db
    .selectFrom('deployment_events')
    .selectAll()
    .where('deployment_id', '=', deploymentId)
    .where('transition', 'is not', null)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}
