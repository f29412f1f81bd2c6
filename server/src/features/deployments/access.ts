import type { Database } from '../../database/tables.ts'
import { findLiveSessions } from '../sessions/live-sessions.ts'

/** True while a user owns the deployment and is a member of the organization that pays for it. */
export async function hasAccess(db: Database, userId: number, deploymentId: string): Promise<boolean> {
  return (await findAccessible(db, [deploymentId])).get(deploymentId) === userId
}

/** A request in flight. `deploymentId` is null while the request is queued. */
export interface Access {
  userId: number
  sessionId: number
  deploymentId: string | null
}

/** Returns those whose session has ended, or whose user has lost the deployment. */
export async function findLostAccess<Each extends Access>(
  db: Database,
  accesses: readonly Each[],
): Promise<Each[]> {
  const ids = accesses.flatMap(({ deploymentId }) => deploymentId ?? [])
  const [sessions, owners] = await Promise.all([
    findLiveSessions(db, [...new Set(accesses.map(({ sessionId }) => sessionId))]),
    findAccessible(db, [...new Set(ids)]),
  ])
  return accesses.filter(
    ({ userId, sessionId, deploymentId }) =>
      !sessions.has(sessionId) || (deploymentId !== null && owners.get(deploymentId) !== userId),
  )
}

/** The owners of those deployments whose owner is a member of the deployment's organization. */
async function findAccessible(db: Database, ids: readonly string[]): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('deployments')
    .innerJoin('memberships', (join) =>
      join
        .onRef('memberships.user_id', '=', 'deployments.user_id')
        .onRef('memberships.organization_id', '=', 'deployments.organization_id'),
    )
    .select(['deployments.id', 'deployments.user_id'])
    .where('deployments.id', 'in', ids)
    .execute()
  return new Map(rows.map(({ id, user_id }) => [id, user_id]))
}
