import { sql } from 'kysely'
import type { Expression, SqlBool } from 'kysely'
import { escapeLike } from '../../../database/escape-like.ts'
import type { Database } from '../../../database/tables.ts'
import { deploymentStatuses } from './lifecycle.ts'
import type { DeploymentStatus } from './lifecycle.ts'
import { summaryColumns } from './store.ts'
import type { DeploymentSummary } from './store.ts'

/** The deployments that a viewer's list may have. */
export type DeploymentListScope =
  | {
      of: 'owner'
      userId: number
      organizationIds: readonly number[]
      /** Adds those that others share with this organization */
      sharedWithin: number | null
    }
  | { of: 'organization'; organizationId: number; onlyShared: boolean }

/** What a list shows of its scope. */
export interface DeploymentFilter {
  /** Leaves out terminated deployments */
  active: boolean
  /** In the name, the alias, the owner's name or email, or at the start of the id */
  search: string | null
  /** null for all */
  statuses: readonly DeploymentStatus[] | null
  ownerId: number | null
}

/** What lists can be sorted by. Equal ones are sorted from new to old. */
export const listOrders = ['created_at', 'name', 'status'] as const

/** The order of a list. */
export interface DeploymentOrder {
  by: (typeof listOrders)[number]
  descending: boolean
}

const statusPosition = sql`array_position(ARRAY[${sql.join(deploymentStatuses.map((status) => sql.lit(status)))}], status)`
const orderings = {
  created_at: sql`created_at`,
  name: sql`lower(coalesce(alias, model_name))`,
  status: statusPosition,
} as const satisfies Record<DeploymentOrder['by'], unknown>

/** A page of deployments. */
export async function listDeployments(
  db: Database,
  scope: DeploymentListScope,
  filter: DeploymentFilter,
  order: DeploymentOrder,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ items: DeploymentSummary[]; total: number }> {
  const [items, total] = await Promise.all([
    selectListed(db, scope, filter)
      .select(summaryColumns)
      .orderBy(orderings[order.by], order.descending ? 'desc' : 'asc')
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .offset(offset)
      .execute(),
    isCounted(scope, filter) ? sumCounts(db, scope) : countListed(db, scope, filter),
  ])
  return { items, total }
}

/** How many deployments of a list have each status, whatever statuses the filter names. */
export async function countStatuses(
  db: Database,
  scope: DeploymentListScope,
  filter: DeploymentFilter,
): Promise<Partial<Record<DeploymentStatus, number>>> {
  const rows = await selectListed(db, scope, { ...filter, statuses: null })
    .select((select) => ['status', select.fn.countAll<number>().as('count')])
    .groupBy('status')
    .execute()
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

/** Whether `deployment_counts` has the total. */
function isCounted(scope: DeploymentListScope, { active, search, statuses, ownerId }: DeploymentFilter) {
  const isFiltered = active || search !== null || statuses !== null || ownerId !== null
  return !isFiltered && (scope.of === 'owner' ? scope.sharedWithin === null : !scope.onlyShared)
}

function selectListed(
  db: Database,
  scope: DeploymentListScope,
  { active, search, statuses, ownerId }: DeploymentFilter,
) {
  const listed = db
    .selectFrom('deployments')
    .$if(active, (query) => query.where('status', '<>', sql.lit('terminated' as const)))
    .$if(statuses !== null, (query) => query.where('status', 'in', statuses!))
    .$if(ownerId !== null, (query) => query.where('user_id', '=', ownerId!))
    .$if(search !== null, (query) => query.where(isFound(search!)))
  if (scope.of === 'owner') {
    const { userId, organizationIds, sharedWithin } = scope
    return listed.where((where) => {
      const owned = where.and([
        where('user_id', '=', userId),
        where('organization_id', 'in', organizationIds),
      ])
      if (sharedWithin === null) return owned
      const shared = where.and([
        where('organization_id', '=', sharedWithin),
        where('shared_with', 'is not', null),
      ])
      return where.or([owned, shared])
    })
  }
  return listed
    .where('organization_id', '=', scope.organizationId)
    .$if(scope.onlyShared, (query) => query.where('shared_with', 'is not', null))
}

function isFound(search: string): Expression<SqlBool> {
  const start = sql<string>`lower(${escapeLike(search)}) || '%'`
  const anywhere = sql<string>`'%' || ${escapeLike(search)} || '%'`
  return sql<SqlBool>`(alias ILIKE ${anywhere} OR model_name ILIKE ${anywhere} OR inference_model_uid LIKE ${start}
    OR deployments.id::text LIKE ${start} OR EXISTS (SELECT FROM users
      WHERE users.id = deployments.user_id AND (users.name ILIKE ${anywhere} OR users.email ILIKE ${anywhere})))`
}

async function countListed(
  db: Database,
  scope: DeploymentListScope,
  filter: DeploymentFilter,
): Promise<number> {
  const { count } = await selectListed(db, scope, filter)
    .select((select) => select.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

async function sumCounts(db: Database, scope: DeploymentListScope): Promise<number> {
  const counts = db
    .selectFrom('deployment_counts')
    .select(sql<number>`coalesce(sum(total), 0)::bigint`.as('total'))
  const { total } = await (
    scope.of === 'owner'
      ? counts.where('user_id', '=', scope.userId).where('organization_id', 'in', scope.organizationIds)
      : counts.where('organization_id', '=', scope.organizationId)
  ).executeTakeFirstOrThrow()
  return total
}
