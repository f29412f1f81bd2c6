import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { Database } from '../../../database/tables.ts'
import type { DeploymentsTable, InstancesTable } from './tables.ts'

export type Instance = Selectable<InstancesTable>
/** An instance that a pass has read, with the seconds until its next step is due; not positive if it is. */
export type ScheduledInstance = Instance & { dueInSeconds: number }

/** A new instance. Its engine names the model as most callers do, so few responses need another name. */
export function makeInstance(
  { id, alias, model_name: modelName }: Pick<Selectable<DeploymentsTable>, 'id' | 'alias' | 'model_name'>,
  at: Date,
) {
  return {
    id: uuidv7(),
    deployment_id: id,
    status: 'requested',
    waiting_for: null,
    status_message: null,
    progress: null,
    instance_type: null,
    selection_reason: null,
    offers_refused: [],
    gpu_count: null,
    memory_bytes: null,
    context_tokens: null,
    parallel_sequences: null,
    adapters: [],
    engine_settings: null,
    served_model_name: alias ?? modelName,
    runtime: null,
    region: null,
    cluster_id: null,
    instance_id: null,
    gpu_allocation_id: null,
    started_at: null,
    ready_at: null,
    lost_at: null,
    unreachable_since: null,
    engine_url: null,
    engine: null,
    engine_restarted_at: null,
    created_at: at,
    updated_at: at,
    status_changed_at: at,
    due_at: null,
    hardware_asked_at: null,
    hardware_refused_at: null,
  } satisfies Instance
}

export async function insertInstance(db: Database, instance: Instance): Promise<void> {
  const { adapters, offers_refused } = instance
  const lists = { adapters: JSON.stringify(adapters), offers_refused: JSON.stringify(offers_refused) }
  const row = { ...instance, ...lists, engine: null, engine_settings: null }
  await db.insertInto('instances').values(row).execute()
}

export function findInstance(db: Database, id: string): Promise<Instance | undefined> {
  return db.selectFrom('instances').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The instances that are not released, oldest first, by deployment. */
export async function listLiveInstances(
  db: Database,
  deploymentIds: readonly string[],
): Promise<Map<string, ScheduledInstance[]>> {
  if (deploymentIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('instances')
    .selectAll()
    .select(sql<number>`coalesce(extract(epoch FROM due_at - now()), 0)::float8`.as('dueInSeconds'))
    .where('deployment_id', 'in', deploymentIds)
    .where('status', '<>', sql.lit('released' as const))
    .orderBy('id')
    .execute()
  return Map.groupBy(rows, ({ deployment_id: id }) => id)
}

/** Finds each deployment's live instances, oldest first, or else its last one. */
export async function listShownInstances(
  db: Database,
  deploymentIds: readonly string[],
): Promise<Map<string, Instance[]>> {
  if (deploymentIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('instances')
    .selectAll()
    .where('deployment_id', 'in', deploymentIds)
    .where((where) =>
      where.or([
        where('status', '<>', sql.lit('released' as const)),
        where(
          'id',
          '=',
          where
            .selectFrom('instances as last')
            .select('last.id')
            .whereRef('last.deployment_id', '=', 'instances.deployment_id')
            .orderBy('last.id', 'desc')
            .limit(1),
        ),
      ]),
    )
    .orderBy('id')
    .execute()
  return Map.groupBy(rows, ({ deployment_id: id }) => id)
}

/** True if an instance has its hardware, which was neither lost nor released. */
export function holdsHardware({
  status,
  started_at: startedAt,
  lost_at: lostAt,
}: Pick<Instance, 'status' | 'started_at' | 'lost_at'>): boolean {
  return status !== 'released' && startedAt !== null && lostAt === null
}
