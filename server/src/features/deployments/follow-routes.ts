import type { FastifyRequest } from 'fastify'
import type { App } from '../../http/app.ts'
import { readSessionToken } from '../../http/current-viewer.ts'
import { createEventStreamLimit } from '../../http/event-stream-limit.ts'
import { sendEventStream, wantsEventStream } from '../../http/event-stream.ts'
import { jsonOrEvents } from '../../http/openapi/responses.ts'
import type { Services } from '../../services.ts'
import type { Person } from '../../base/viewer.ts'
import { watchSession } from '../sessions/watch-session.ts'
import { accessDeployment, hasAccess } from './state/access-deployment.ts'
import {
  findLoggedInstances,
  followEngineLogs,
  maxLogLines,
  readEngineLogs,
  requireReadableLog,
} from './state/engine-log.ts'
import { followEvents } from './state/follow-events.ts'
import {
  activityBody,
  activityQuery,
  eventItem,
  eventsBody,
  logItem,
  logsBody,
  logsQuery,
  toActivityItem,
  toEventItem,
  toLogItem,
} from './follow-schemas.ts'
import type { DeploymentAct } from './state/judge-access.ts'
import { deploymentParams, deploymentQuery, toReference } from './schemas.ts'
import { listActivity, listEvents } from './state/store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'notifications' | 'runtimes'>

const tags = ['Deployments']
const prefix = '/api/v1/model-deployments'
const keepAlive = 'A comment every 15 seconds keeps the connection open.'
/** The first lines of a log's stream, unless the caller asks for another number */
const followedLines = 200

/** The routes that list the events and the log of a deployment, or follow them as they grow. */
export function followRoutes(app: App, deps: Deps): void {
  const countStream = createEventStreamLimit(deps.config.eventStreams)
  const watchAccess = (request: FastifyRequest, act: DeploymentAct, id: string) => (signal: AbortSignal) => {
    const token = readSessionToken(request, deps.config.sessionCookie) ?? ''
    const { userId } = request.viewer
    const isAllowed = (person: Person) => hasAccess(deps, person, act, id)
    return watchSession(deps, { token, userId, isAllowed }, signal)
  }

  app.get(
    `${prefix}/:deployment_id/events`,
    {
      config: { permission: 'readOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'listDeploymentEvents',
        summary: 'List the events of a deployment, oldest first',
        description:
          'With `Accept: text/event-stream` the response streams all events so far and then each new one: `event: status`, ' +
          'with an item as `data`.',
        tags,
        params: deploymentParams,
        querystring: deploymentQuery,
        response: { 200: jsonOrEvents(eventsBody, { event: 'status', data: eventItem, note: keepAlive }) },
        errors: ['not_found', 'rate_limited'],
      },
    },
    async (request, reply) => {
      const reference = toReference(request.params, request.query)
      const { id } = await accessDeployment(deps, request.viewer, 'read', reference)
      if (wantsEventStream(request)) {
        countStream(request.viewer.userId, reply)
        return sendEventStream(
          reply,
          'status',
          toEventItem,
          (signal) => followEvents(deps, id, signal),
          watchAccess(request, 'read', id),
        )
      }
      return { items: (await listEvents(deps.db, id, 0)).map(toEventItem) }
    },
  )

  app.get(
    `${prefix}/:deployment_id/activity`,
    {
      config: { permission: 'readOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'listDeploymentActivity',
        summary: 'List what happened to a deployment, newest first',
        description:
          'Changes of its settings with the person and the values before, and a line for each start, wake, sleep and failure. ' +
          'The steps of a start are among its events.',
        tags,
        params: deploymentParams,
        querystring: activityQuery,
        response: { 200: activityBody },
        errors: ['not_found'],
      },
    },
    async ({ params, query, viewer }) => {
      const { id } = await accessDeployment(deps, viewer, 'read', toReference(params, query))
      const { items, total } = await listActivity(deps.db, id, query)
      return { items: items.map(toActivityItem), total, limit: query.limit, offset: query.offset }
    },
  )

  app.get(
    `${prefix}/:deployment_id/logs`,
    {
      config: { permission: 'readOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'listDeploymentLogs',
        summary: 'List the last log lines of the engines, oldest first',
        description:
          'With `Accept: text/event-stream` the response streams the last lines and then each new one: `event: line`, with an ' +
          'item as `data`.',
        tags,
        params: deploymentParams,
        querystring: logsQuery,
        response: { 200: jsonOrEvents(logsBody, { event: 'line', data: logItem, note: keepAlive }) },
        errors: ['not_found', 'rate_limited', 'runtime_unavailable'],
      },
    },
    async (request, reply) => {
      const { tail, instance } = request.query
      const reference = toReference(request.params, request.query)
      const deployment = await accessDeployment(deps, request.viewer, 'inspect', reference)
      const instances = await findLoggedInstances(deps.db, deployment, instance)
      for (const each of instances) await requireReadableLog(deps, each)
      if (wantsEventStream(request)) {
        countStream(request.viewer.userId, reply)
        return sendEventStream(
          reply,
          'line',
          toLogItem,
          (signal) => followEngineLogs(deps, instances, tail ?? followedLines, signal),
          watchAccess(request, 'inspect', deployment.id),
        )
      }
      return { items: (await readEngineLogs(deps, instances, tail ?? maxLogLines)).map(toLogItem) }
    },
  )
}
