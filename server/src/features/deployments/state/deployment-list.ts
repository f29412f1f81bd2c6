import { sql } from 'kysely'
import type { Database } from '../../../database/tables.ts'
import { summaryColumns } from './store.ts'
import type { DeploymentSummary } from './store.ts'

/** The deployments of a list. */
export type DeploymentListScope =
  | {
      of: 'owner'
      userId: number
      organizationIds: readonly number[]
      /** Adds those that others share with this organization */
      sharedWithin: number | null
    }
  | { of: 'organization'; organizationId: number; onlyShared: boolean }

/** A page of deployments, newest first. */
export async function listDeployments(
  db: Database,
  scope: DeploymentListScope,
  { limit, offset, active }: { limit: number; offset: number; active: boolean },
): Promise<{ items: DeploymentSummary[]; total: number }> {
  const [items, total] = await Promise.all([
    selectListed(db, scope, active)
      .select(summaryColumns)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .offset(offset)
      .execute(),
    active || listsShared(scope) ? countListed(db, scope, active) : countAll(db, scope),
  ])
  return { items, total }
}

const listsShared = (scope: DeploymentListScope) =>
  scope.of === 'owner' ? scope.sharedWithin !== null : scope.onlyShared

function selectListed(db: Database, scope: DeploymentListScope, active: boolean) {
  const listed = db
    .selectFrom('deployments')
    .$if(active, (query) => query.where('status', '<>', sql.lit('terminated' as const)))
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

async function countListed(db: Database, scope: DeploymentListScope, active: boolean): Promise<number> {
  const { count } = await selectListed(db, scope, active)
    .select((select) => select.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

async function countAll(db: Database, scope: DeploymentListScope): Promise<number> {
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
