import { sql } from 'kysely'
import type { Database } from '../../../database/tables.ts'
import type { Services } from '../../../services.ts'
import type { DeploymentStatus } from './lifecycle.ts'

/** The last change of the status of a person's deployment. */
export interface News {
  deploymentId: string
  /** Its alias, or its model */
  name: string
  at: Date
  status: DeploymentStatus
  /** Why it failed; null unless it has */
  failureReason: string | null
}

/** Whose news, in which organization. */
interface Whose {
  userId: number
  organizationId: number
}

const recentMilliseconds = 15 * 60_000
const mostNews = 100

/** A person's deployments that start or end, or changed in the last 15 minutes, the latest first. */
export async function listNews(
  { db, clock }: { db: Database; clock: () => Date },
  { userId, organizationId }: Whose,
): Promise<News[]> {
  const since = new Date(clock().getTime() - recentMilliseconds)
  const { rows } = await sql<News>`
    SELECT deployments.id AS "deploymentId", coalesce(alias, model_name) AS name, last.at, deployments.status,
      CASE WHEN deployments.status = 'failed' THEN failure_reason END AS "failureReason"
    FROM deployments CROSS JOIN LATERAL (
      SELECT at, id FROM deployment_events WHERE deployment_id = deployments.id ORDER BY id DESC LIMIT 1
    ) AS last
    WHERE user_id = ${userId} AND organization_id = ${organizationId}
      AND deployments.status <> 'terminated'
      AND (last.at >= ${since} OR deployments.status NOT IN ('running', 'sleeping', 'failed'))
    ORDER BY last.id DESC
    LIMIT ${mostNews}`.execute(db)
  return rows
}

/** Yields the news of a person so far, then each change of a status, until the signal aborts. */
export async function* followNews(
  deps: Pick<Services, 'db' | 'clock' | 'notifications'>,
  whose: Whose,
  signal: AbortSignal,
): AsyncIterable<News> {
  // Subscribe before the first read, so that no change is missed in between.
  const changes = deps.notifications.follow('deployment_changed', signal)
  const told = new Map<string, DeploymentStatus>()
  async function* untold(): AsyncIterable<News> {
    for (const news of (await listNews(deps, whose)).toReversed()) {
      if (told.get(news.deploymentId) === news.status) continue
      told.set(news.deploymentId, news.status)
      yield news
    }
  }
  yield* untold()
  for await (const changed of changes) {
    if (changed === null || changed === '' || Number(changed) === whose.userId) yield* untold()
  }
}
