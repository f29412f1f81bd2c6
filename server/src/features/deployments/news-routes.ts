import { z } from 'zod'
import { findStanding } from '../../base/standing.ts'
import type { Person } from '../../base/viewer.ts'
import type { App } from '../../http/app.ts'
import { readSessionToken } from '../../http/current-viewer.ts'
import { createEventStreamLimit } from '../../http/event-stream-limit.ts'
import { sendEventStream, wantsEventStream } from '../../http/event-stream.ts'
import { jsonOrEvents } from '../../http/openapi/responses.ts'
import { timestamp } from '../../http/schemas.ts'
import type { Services } from '../../services.ts'
import { watchSession } from '../sessions/watch-session.ts'
import { transitionCauses } from './state/event-transition.ts'
import { followNews, listNews, newsActs } from './state/follow-news.ts'
import type { News } from './state/follow-news.ts'
import { deploymentStatuses } from './state/lifecycle.ts'

const newsItem = z
  .object({
    deployment_id: z.string().meta({ format: 'uuid', description: 'Id of the deployment' }),
    name: z.string().describe('Its alias, or else its model'),
    at: timestamp.describe('Time of its last event'),
    status: z.enum(deploymentStatuses).describe('Its status'),
    failure_reason: z.string().nullable().describe('Why it failed; null unless it has'),
    cause: z
      .enum(transitionCauses)
      .nullable()
      .describe('Why it woke or fell asleep last; null before that, and after a start'),
    foreign_act: z
      .object({
        at: timestamp.describe('Time of the act'),
        act: z.enum(newsActs).describe('What the person did: `settings` were changed'),
        by: z.string().describe('Name of the person'),
      })
      .nullable()
      .describe('What somebody else did to it last, within 15 minutes; null for nothing'),
  })
  .meta({ id: 'DeploymentNews', description: 'The status of a deployment that starts, ends or has changed' })

const newsBody = z
  .object({ items: z.array(newsItem).describe('The latest change first') })
  .meta({ id: 'DeploymentNewsList', description: 'What became of your deployments' })

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'notifications'>

/** The stream of what becomes of a person's deployments. It ends with the session and the membership. */
export function newsRoutes(app: App, deps: Deps): void {
  const countStream = createEventStreamLimit({ ...deps.config.eventStreams, perUser: newsStreamsPerUser })
  app.get(
    '/v1/events',
    {
      config: { permission: 'readOwnDeployments' },
      schema: {
        operationId: 'listNews',
        summary: 'List what became of your deployments in your current organization',
        description:
          'Deployments of yours that start or end, or whose status changed, or that somebody else changed, in the last 15 minutes. With `Accept: text/event-stream` the response ' +
          'streams these and then each change of a status, or by somebody else: `event: deployment`, with an item as `data`.',
        tags: ['Deployments'],
        response: {
          200: jsonOrEvents(newsBody, {
            event: 'deployment',
            data: newsItem,
            note: 'A comment every 15 seconds keeps the connection open.',
          }),
        },
        errors: ['rate_limited'],
      },
    },
    async (request, reply) => {
      const { userId, organizationId } = request.viewer
      if (!wantsEventStream(request)) {
        return { items: (await listNews(deps, { userId, organizationId })).map(toNewsItem) }
      }
      countStream(userId, reply)
      const token = readSessionToken(request, deps.config.sessionCookie) ?? ''
      const isAllowed = async (person: Person) => findStanding(person, organizationId) !== undefined
      return sendEventStream(
        reply,
        'deployment',
        toNewsItem,
        (signal) => followNews(deps, { userId, organizationId }, signal),
        (signal) => watchSession(deps, { token, userId, isAllowed }, signal),
      )
    },
  )
}

/** A person may have as many tabs open. */
const newsStreamsPerUser = 20

function toNewsItem(news: News): z.infer<typeof newsItem> {
  return {
    deployment_id: news.deploymentId,
    name: news.name,
    at: news.at.toISOString(),
    status: news.status,
    failure_reason: news.failureReason,
    cause: news.cause,
    foreign_act: news.foreignAct && { ...news.foreignAct, at: news.foreignAct.at.toISOString() },
  }
}
