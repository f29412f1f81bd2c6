import type { FastifyRequest } from 'fastify'
import type { App } from '../../http/app.ts'
import { compressJson } from '../../http/compress.ts'
import { readSessionToken } from '../../http/current-viewer.ts'
import { createEventStreamLimit } from '../../http/event-stream-limit.ts'
import { sendEventStream, wantsEventStream } from '../../http/event-stream.ts'
import { jsonOrEvents } from '../../http/openapi/responses.ts'
import type { Services } from '../../services.ts'
import type { Person } from '../../base/viewer.ts'
import { watchSession } from '../sessions/watch-session.ts'
import { readDeploymentUsage } from '../metering/deployment-usage.ts'
import type { DeploymentAct } from './judge-access.ts'
import { accessDeployment, hasAccess } from './access-deployment.ts'
import { toListScope } from './list-scope.ts'
import { presentDeployment, presentDeployments } from './present-deployments.ts'
import { changeDeployment } from './change-deployment.ts'
import { followEngineLog, maxLogLines, readEngineLog, requireReadableLog } from './engine-log.ts'
import { followEvents } from './follow-events.ts'
import { measureWeightCache } from './weight-cache-metrics.ts'
import { listPlacements, planDeployment } from '../placement/plan.ts'
import { requestDeployment } from './request.ts'
import {
  changeDeploymentBody,
  createDeploymentBody,
  deploymentBody,
  deploymentParams,
  deploymentUsageBody,
  deploymentsBody,
  eventItem,
  eventsBody,
  listDeploymentsQuery,
  logItem,
  logsBody,
  logsQuery,
  placementsBody,
  planBody,
  toDeploymentUsageBody,
  toEventItem,
  toLogItem,
  toPlacementBody,
  toPlanBody,
  toMinimums,
  toWishes,
  toVariantChoice,
} from './schemas.ts'
import { listDeployments, listEvents } from './store.ts'
import { terminateDeployment } from './terminate.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'notifications' | 'runtime' | 'prices'>

const tags = ['Deployments']
const prefix = '/api/v1/model-deployments'
/** Why a model is not deployed */
const deploymentErrors = [
  'model_not_deployable',
  'resource_limit_reached',
  'trial_credit_exhausted',
  'payment_past_due',
  'account_suspended',
  'billing_not_activated',
  'budget_exhausted',
] as const
const keepAlive = 'A comment every 15 seconds keeps the connection open.'
/** The lines that a stream of a log begins with, unless the caller asks for another number */
const followedLines = 200

export function deploymentRoutes(app: App, deps: Deps): void {
  measureWeightCache(app.metrics, deps.runtime)
  const countStream = createEventStreamLimit(deps.config.eventStreams)
  const watchAccess = (request: FastifyRequest, act: DeploymentAct, id: string) => (signal: AbortSignal) => {
    const token = readSessionToken(request, deps.config.sessionCookie) ?? ''
    const { userId } = request.viewer
    const isAllowed = (person: Person) => hasAccess(deps, person, act, id)
    return watchSession(deps, { token, userId, isAllowed }, signal)
  }

  app.get(
    prefix,
    {
      config: { permission: 'readOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'listDeployments',
        summary: 'List your deployments, or those of your organization, newest first',
        tags,
        querystring: listDeploymentsQuery,
        response: { 200: deploymentsBody },
      },
    },
    async ({ query, viewer }) => {
      const { items, total } = await listDeployments(deps.db, toListScope(viewer, query.scope), query)
      const bodies = await presentDeployments(deps.db, items)
      return { items: bodies, total, limit: query.limit, offset: query.offset }
    },
  )

  app.post(
    prefix,
    {
      config: { permission: 'createDeployments', requiresProvenEmail: true },
      schema: {
        operationId: 'createDeployment',
        summary: 'Deploy a model from the catalog',
        description: 'Returns immediately. Provisioning continues in the background.',
        tags,
        body: createDeploymentBody,
        response: { 201: deploymentBody },
        errors: [...deploymentErrors, 'runtime_unavailable'],
      },
    },
    async ({ body, viewer }, reply) => {
      const deployment = await requestDeployment(deps, viewer, toVariantChoice(body), toMinimums(body))
      return reply.code(201).send(await presentDeployment(deps.db, deployment))
    },
  )

  app.post(
    `${prefix}/plan`,
    {
      config: { permission: 'readCatalog' },
      schema: {
        operationId: 'planDeployment',
        summary: 'Preview the instance type and price of a deployment',
        description:
          'Takes the same body as creating a deployment, and minimums, but creates nothing. Returns 200 with `feasible: false` if ' +
          'no instance type can run the model. Billing conditions are not checked.',
        tags,
        body: createDeploymentBody,
        response: { 200: planBody },
        errors: ['model_not_deployable', 'runtime_unavailable'],
      },
    },
    async ({ body }) => {
      const plan = await planDeployment(deps, toVariantChoice(body), toMinimums(body))
      return toPlanBody(plan, deps.config.billing.currency)
    },
  )

  app.get(
    '/api/v1/placements',
    {
      onSend: compressJson,
      config: { permission: 'readCatalog' },
      schema: {
        operationId: 'listPlacements',
        summary: 'Preview the instance type and price of every catalog variant',
        description: 'In catalog order. Each item matches the current deployment plan of its variant.',
        tags,
        response: { 200: placementsBody },
        errors: ['runtime_unavailable'],
      },
    },
    async () => ({
      currency: deps.config.billing.currency,
      items: (await listPlacements(deps)).map(toPlacementBody),
    }),
  )

  app.get(
    `${prefix}/:deployment_id`,
    {
      config: { permission: 'readOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'getDeployment',
        summary: 'Get a deployment',
        tags,
        params: deploymentParams,
        response: { 200: deploymentBody },
        errors: ['not_found'],
      },
    },
    async ({ params, viewer }) =>
      presentDeployment(deps.db, await accessDeployment(deps, viewer, 'read', params.deployment_id)),
  )

  app.patch(
    `${prefix}/:deployment_id`,
    {
      config: { permission: 'createDeployments', anyOrganization: true },
      schema: {
        operationId: 'changeDeployment',
        summary: 'Change what a deployment must be able to serve, and who may call it',
        description:
          'Omitted fields stay. A deployment that does not serve yet moves to an instance that is large enough. A running one ' +
          'does so when its engine starts next, and says so in `waiting_for`. The owner and admins of the organization may share it.',
        tags,
        params: deploymentParams,
        body: changeDeploymentBody,
        response: { 200: deploymentBody },
        errors: ['not_found', 'deployment_ended', 'no_feasible_instance', 'runtime_unavailable'],
      },
    },
    async ({ params, body, viewer }) =>
      presentDeployment(deps.db, await changeDeployment(deps, viewer, params.deployment_id, toWishes(body))),
  )

  app.delete(
    `${prefix}/:deployment_id`,
    {
      config: { permission: 'terminateOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'terminateDeployment',
        summary: 'Terminate a deployment',
        description:
          'Returns the updated deployment immediately. Its resources are released in the background.',
        tags,
        params: deploymentParams,
        response: { 200: deploymentBody },
        errors: ['not_found'],
      },
    },
    async ({ params, viewer }) =>
      presentDeployment(deps.db, await terminateDeployment(deps, viewer, params.deployment_id)),
  )

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
        response: { 200: jsonOrEvents(eventsBody, { event: 'status', data: eventItem, note: keepAlive }) },
        errors: ['not_found', 'rate_limited'],
      },
    },
    async (request, reply) => {
      const { id } = await accessDeployment(deps, request.viewer, 'read', request.params.deployment_id)
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
    `${prefix}/:deployment_id/logs`,
    {
      config: { permission: 'readOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'listDeploymentLogs',
        summary: 'List the last log lines of the engine, oldest first',
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
      const { tail } = request.query
      const deployment = await accessDeployment(deps, request.viewer, 'inspect', request.params.deployment_id)
      await requireReadableLog(deps, deployment)
      if (wantsEventStream(request)) {
        countStream(request.viewer.userId, reply)
        return sendEventStream(
          reply,
          'line',
          toLogItem,
          (signal) => followEngineLog(deps, deployment, tail ?? followedLines, signal),
          watchAccess(request, 'inspect', deployment.id),
        )
      }
      return { items: (await readEngineLog(deps, deployment, tail ?? maxLogLines)).map(toLogItem) }
    },
  )

  app.get(
    `${prefix}/:deployment_id/usage`,
    {
      config: { permission: 'readOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'getDeploymentUsage',
        summary: 'Get the usage and cost of a deployment',
        tags,
        params: deploymentParams,
        response: { 200: deploymentUsageBody },
        errors: ['not_found'],
      },
    },
    async ({ params, viewer }) => {
      const deployment = await accessDeployment(deps, viewer, 'inspect', params.deployment_id)
      return toDeploymentUsageBody(await readDeploymentUsage(deps, deployment))
    },
  )
}
