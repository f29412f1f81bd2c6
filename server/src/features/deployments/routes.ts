import type { FastifyRequest } from 'fastify'
import type { App } from '../../http/app.ts'
import { compressJson } from '../../http/compress.ts'
import { readSessionToken } from '../../http/current-viewer.ts'
import { sendEventStream, wantsEventStream } from '../../http/event-stream.ts'
import { bodyProblems, problems, protectedProblems } from '../../http/openapi.ts'
import type { Services } from '../../services.ts'
import { watchSession } from '../accounts/watch-session.ts'
import type { Price } from '../metering/prices.ts'
import { readEngineLog } from './engine-log.ts'
import { followEvents } from './follow-events.ts'
import { getOwnDeployment } from './get.ts'
import { listPlacements, planDeployment } from './plan.ts'
import { requestDeployment } from './request.ts'
import {
  createDeploymentBody,
  deploymentBody,
  deploymentParams,
  deploymentsBody,
  eventsBody,
  listDeploymentsQuery,
  logsBody,
  placementsBody,
  planBody,
  toDeploymentBody,
  toEventItem,
  toLogItem,
  toPlacementBody,
  toPlanBody,
  toVariantChoice,
} from './schemas.ts'
import { listEvents, listOwnDeployments } from './store.ts'
import { terminateDeployment } from './terminate.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'notifications' | 'runtime'> & {
  prices: readonly Price[]
}

const tags = ['Deployments']
const prefix = '/api/v1/model-deployments'

export function deploymentRoutes(app: App, application: Deps): void {
  const watchSessionOf = (request: FastifyRequest) => (left: AbortSignal) => {
    const token = readSessionToken(request, application.config.sessionCookie) ?? ''
    return watchSession(application, { token, userId: request.viewer.userId }, left)
  }

  app.get(
    prefix,
    {
      config: { permission: 'readOwnDeployments' },
      schema: {
        operationId: 'listDeployments',
        summary: 'List your deployments, the newest first',
        tags,
        querystring: listDeploymentsQuery,
        response: { 200: deploymentsBody, ...protectedProblems, ...problems(422) },
      },
    },
    async ({ query, viewer }) => {
      const { items, total } = await listOwnDeployments(application.db, viewer.userId, query)
      return { items: items.map(toDeploymentBody), total, limit: query.limit, offset: query.offset }
    },
  )

  app.post(
    prefix,
    {
      config: { permission: 'createDeployments' },
      schema: {
        operationId: 'createDeployment',
        summary: 'Deploy a model of the catalog',
        description: 'Answers at once; the deployment is brought up in the background.',
        tags,
        body: createDeploymentBody,
        response: { 201: deploymentBody, ...protectedProblems, ...bodyProblems, ...problems(409) },
      },
    },
    async ({ body, viewer }, reply) => {
      const deployment = await requestDeployment(application, viewer, toVariantChoice(body))
      return reply.code(201).send(toDeploymentBody(deployment))
    },
  )

  app.post(
    `${prefix}/plan`,
    {
      config: { permission: 'readCatalog' },
      schema: {
        operationId: 'planDeployment',
        summary: 'What a deployment would run on, what that costs and why',
        description:
          'Takes what creating a deployment takes, and creates nothing. What no instance type can run is a 200 with ' +
          '`feasible: false`. Billing is not looked at.',
        tags,
        body: createDeploymentBody,
        response: { 200: planBody, ...protectedProblems, ...bodyProblems, ...problems(503) },
      },
    },
    async ({ body }) =>
      toPlanBody(
        await planDeployment(application, toVariantChoice(body)),
        application.config.billing.currency,
      ),
  )

  app.get(
    '/api/v1/placements',
    {
      onSend: compressJson,
      config: { permission: 'readCatalog' },
      schema: {
        operationId: 'listPlacements',
        summary: 'What every variant of the catalog would run on, and what that costs',
        description: 'In the catalog’s order; what a deployment of it would be told by its plan, now.',
        tags,
        response: { 200: placementsBody, ...protectedProblems, ...problems(503) },
      },
    },
    async () => ({
      currency: application.config.billing.currency,
      items: (await listPlacements(application)).map(toPlacementBody),
    }),
  )

  app.get(
    `${prefix}/:deployment_id`,
    {
      config: { permission: 'readOwnDeployments' },
      schema: {
        operationId: 'getDeployment',
        summary: 'Get one of your deployments',
        tags,
        params: deploymentParams,
        response: { 200: deploymentBody, ...protectedProblems, ...problems(404) },
      },
    },
    async ({ params, viewer }) =>
      toDeploymentBody(await getOwnDeployment(application, viewer, params.deployment_id)),
  )

  app.delete(
    `${prefix}/:deployment_id`,
    {
      config: { permission: 'terminateOwnDeployments' },
      schema: {
        operationId: 'terminateDeployment',
        summary: 'Terminate one of your deployments',
        description:
          'Answers at once with the updated deployment; what it holds is given back in the background.',
        tags,
        params: deploymentParams,
        response: { 200: deploymentBody, ...protectedProblems, ...problems(404) },
      },
    },
    async ({ params, viewer }) =>
      toDeploymentBody(await terminateDeployment(application, viewer, params.deployment_id)),
  )

  app.get(
    `${prefix}/:deployment_id/events`,
    {
      config: { permission: 'readOwnDeployments' },
      schema: {
        operationId: 'listDeploymentEvents',
        summary: 'What happened to a deployment, the oldest first',
        description: 'With `Accept: text/event-stream` it follows live: `event: status`, `data:` an item.',
        tags,
        params: deploymentParams,
        response: { 200: eventsBody, ...protectedProblems, ...problems(404) },
      },
    },
    async (request, reply) => {
      const { id } = await getOwnDeployment(application, request.viewer, request.params.deployment_id)
      if (wantsEventStream(request)) {
        return sendEventStream(
          reply,
          'status',
          toEventItem,
          (signal) => followEvents(application, id, signal),
          watchSessionOf(request),
        )
      }
      return { items: (await listEvents(application.db, id, 0)).map(toEventItem) }
    },
  )

  app.get(
    `${prefix}/:deployment_id/logs`,
    {
      config: { permission: 'readOwnDeployments' },
      schema: {
        operationId: 'listDeploymentLogs',
        summary: 'The last lines that the engine of a deployment wrote, the oldest first',
        description: 'With `Accept: text/event-stream` it follows live: `event: line`, `data:` an item.',
        tags,
        params: deploymentParams,
        response: { 200: logsBody, ...protectedProblems, ...problems(404, 503) },
      },
    },
    async (request, reply) => {
      const deployment = await getOwnDeployment(application, request.viewer, request.params.deployment_id)
      if (wantsEventStream(request)) {
        return sendEventStream(
          reply,
          'line',
          toLogItem,
          (signal) => application.runtime.followLogs(deployment.id, signal),
          watchSessionOf(request),
        )
      }
      return { items: (await readEngineLog(application, deployment)).map(toLogItem) }
    },
  )
}
