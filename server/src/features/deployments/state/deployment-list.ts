import { sql } from 'kysely'
import type { Expression, SqlBool } from 'kysely'
import { escapeLike } from '../../../database/escape-like.ts'
import type { Database } from '../../../database/tables.ts'
import { costSince, requestsSince } from '../../metering/deployment-totals.ts'
import { addHours, floorHour, floorMonth } from '../../metering/hours.ts'
import { isSharedTo } from './shared-with.ts'
import type { Sharee } from './shared-with.ts'
import { deploymentStatuses } from './lifecycle.ts'
import type { DeploymentStatus } from './lifecycle.ts'
import { summaryColumns } from './store.ts'
import type { DeploymentSummary } from './store.ts'

/** The deployments that a viewer's list may have. */
export type DeploymentListScope = {
  /** null if the viewer sees the costs of all of them, else only of this owner's */
  costsOf: number | null
} & (
  | {
      of: 'owner'
      userId: number
      organizationIds: readonly number[]
      /** Adds those that others share with this member */
      sharee: Sharee | null
    }
  | {
      of: 'organization'
      organizationId: number
      /** Only those that this member shares or that are shared with them; null for all */
      sharee: Sharee | null
    }
)

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
export const listOrders = ['created_at', 'name', 'status', 'requests', 'cost'] as const

/** The order of a list. */
export interface DeploymentOrder {
  by: (typeof listOrders)[number]
  descending: boolean
}

const statusPosition = sql`array_position(ARRAY[${sql.join(deploymentStatuses.map((status) => sql.lit(status)))}], status)`
const columns = { id: sql<string>`deployments.id`, organizationId: sql<number>`deployments.organization_id` }

/** What a page of a list is, besides its filter. */
interface ListPage {
  limit: number
  offset: number
  /** Whether to count by status */
  counts: boolean
  /** For the order by requests and cost */
  now: Date
  currency: string
}

function toOrdering(
  by: DeploymentOrder['by'],
  { costsOf }: DeploymentListScope,
  { now, currency }: ListPage,
) {
  switch (by) {
    case 'created_at':
      return sql`created_at`
    case 'name':
      return sql`lower(coalesce(alias, model_name))`
    case 'status':
      return statusPosition
    case 'requests':
      return requestsSince(columns, addHours(floorHour(now), -23))
    case 'cost': {
      const cost = costSince(columns, floorMonth(now), currency)
      return costsOf === null ? cost : sql`CASE WHEN deployments.user_id = ${costsOf} THEN ${cost} ELSE 0 END`
    }
  }
}

/** A page of deployments; if asked for, how many have each status, whichever the filter names. */
export async function listDeployments(
  db: Database,
  scope: DeploymentListScope,
  filter: DeploymentFilter,
  order: DeploymentOrder,
  page: ListPage,
): Promise<{ items: DeploymentSummary[]; total: number; counts: StatusCounts | undefined }> {
  const [items, { total, counts }] = await Promise.all([
    selectListed(db, scope, filter)
      .select(summaryColumns)
      .orderBy(toOrdering(order.by, scope, page), order.descending ? 'desc' : 'asc')
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(page.limit)
      .offset(page.offset)
      .execute(),
    countDeployments(db, scope, filter, page.counts),
  ])
  return { items, total, counts }
}

type StatusCounts = Partial<Record<DeploymentStatus, number>>

/** Counts in one statement. */
async function countDeployments(
  db: Database,
  scope: DeploymentListScope,
  filter: DeploymentFilter,
  byStatus: boolean,
): Promise<{ total: number; counts?: StatusCounts }> {
  if (!byStatus) {
    return { total: await (isCounted(scope, filter) ? sumCounts(db, scope) : countListed(db, scope, filter)) }
  }
  const rows = await selectListed(db, scope, { ...filter, statuses: null })
    .select((select) => ['status', select.fn.countAll<number>().as('count')])
    .groupBy('status')
    .execute()
  const listed = rows.filter(({ status }) => filter.statuses?.includes(status) ?? true)
  return {
    total: listed.reduce((sum, { count }) => sum + count, 0),
    counts: Object.fromEntries(rows.map(({ status, count }) => [status, count])),
  }
}

/** Whether `deployment_counts` has the total. */
function isCounted(scope: DeploymentListScope, { active, search, statuses, ownerId }: DeploymentFilter) {
  const isFiltered = active || search !== null || statuses !== null || ownerId !== null
  return !isFiltered && scope.sharee === null
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
    const { userId, organizationIds, sharee } = scope
    return listed.where((where) => {
      const owned = where.and([
        where('user_id', '=', userId),
        where('organization_id', 'in', organizationIds),
      ])
      return sharee === null ? owned : where.or([owned, isSharedTo(sharee)])
    })
  }
  const { organizationId, sharee } = scope
  const ofOrganization = listed.where('organization_id', '=', organizationId)
  if (sharee === null) return ofOrganization
  return ofOrganization
    .where('shared_with', 'is not', null)
    .where((where) => where.or([where('user_id', '=', sharee.userId), isSharedTo(sharee)]))
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
