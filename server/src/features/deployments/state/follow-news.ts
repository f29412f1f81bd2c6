import { sql } from 'kysely'
import type { Database } from '../../../database/tables.ts'
import type { Services } from '../../../services.ts'
import type { TransitionCause } from './event-transition.ts'
import type { DeploymentStatus } from './lifecycle.ts'

/** What a person did to a deployment of another. */
export const newsActs = ['settings', 'sleep', 'wake', 'termination'] as const

/** What somebody else did last to a person's deployment. */
export interface ForeignAct {
  at: Date
  act: (typeof newsActs)[number]
  by: string
}

/** What became last of a person's deployment. */
export interface News {
  deploymentId: string
  /** Its alias, or its model */
  name: string
  at: Date
  status: DeploymentStatus
  /** Why it failed; null unless it has */
  failureReason: string | null
  /** Why it woke or fell asleep last; null before that, and after a start */
  cause: TransitionCause | null
  /** Within the last 15 minutes; null for nothing */
  foreignAct: ForeignAct | null
}

/** Whose news, in which organization. */
interface Whose {
  userId: number
  organizationId: number
}

const recentMilliseconds = 15 * 60_000
const mostNews = 100
/** Bounds the search for acts of others among the last events of a deployment. */
const mostEvents = 50

/** A person's deployments that start or end, or changed in the last 15 minutes, the latest first. */
export async function listNews(
  { db, clock }: { db: Database; clock: () => Date },
  { userId, organizationId }: Whose,
): Promise<News[]> {
  const since = new Date(clock().getTime() - recentMilliseconds)
  const { rows } = await sql<
    Omit<News, 'foreignAct'> & { act: ForeignAct['act'] | null; actAt: Date; by: string }
  >`
    SELECT deployments.id AS "deploymentId", coalesce(alias, model_name) AS name, last.at, deployments.status,
      CASE WHEN deployments.status = 'failed' THEN failure_reason END AS "failureReason",
      transitions.cause, acts.act, acts.at AS "actAt", acts.by
    FROM deployments CROSS JOIN LATERAL (
      SELECT at, id FROM deployment_events WHERE deployment_id = deployments.id ORDER BY id DESC LIMIT 1
    ) AS last LEFT JOIN LATERAL (
      SELECT transition ->> 'cause' AS cause FROM deployment_events
      WHERE deployment_id = deployments.id AND transition IS NOT NULL ORDER BY id DESC LIMIT 1
    ) AS transitions ON true LEFT JOIN LATERAL (
      SELECT event.at, users.name AS by,
        CASE WHEN event.stage = 'termination' THEN 'termination' WHEN event.change IS NULL THEN transition ->> 'type'
          ELSE 'settings' END AS act
      FROM (SELECT * FROM deployment_events WHERE deployment_id = deployments.id AND last.at >= ${since}
          ORDER BY id DESC LIMIT ${mostEvents}) AS event
        JOIN users ON users.id = (coalesce(event.change, event.transition) ->> 'user_id')::bigint
      WHERE event.at >= ${since} AND users.id <> ${userId}
        AND jsonb_typeof(coalesce(event.transition -> 'phases', 'null')) = 'null'
      ORDER BY event.id DESC LIMIT 1
    ) AS acts ON true
    WHERE user_id = ${userId} AND organization_id = ${organizationId}
      AND deployments.status <> 'terminated'
      AND (status_changed_at >= ${since} OR acts.act IS NOT NULL OR deployments.status NOT IN ('running', 'sleeping', 'failed'))
    ORDER BY last.id DESC
    LIMIT ${mostNews}`.execute(db)
  return rows.map(({ act, actAt, by, ...row }) => ({
    ...row,
    foreignAct: act === null ? null : { at: actAt, act, by },
  }))
}

/** Yields the news of a person so far, then each change of a status or by others, until the signal aborts. */
export async function* followNews(
  deps: Pick<Services, 'db' | 'clock' | 'notifications'>,
  whose: Whose,
  signal: AbortSignal,
): AsyncIterable<News> {
  // Subscribe before the first read, so that no change is missed in between.
  const changes = deps.notifications.follow('deployment_changed', signal)
  const told = new Map<string, string>()
  async function* untold(): AsyncIterable<News> {
    for (const news of (await listNews(deps, whose)).toReversed()) {
      const state = `${news.status} ${news.foreignAct?.at.getTime()}`
      if (told.get(news.deploymentId) === state) continue
      told.set(news.deploymentId, state)
      yield news
    }
  }
  yield* untold()
  for await (const changed of changes) {
    if (changed === null || changed === '' || Number(changed) === whose.userId) yield* untold()
  }
}
