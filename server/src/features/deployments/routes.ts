import type { App } from '../../http/app.ts'
import { joinResponse } from '../../http/creation.ts'
import { toListOrder } from '../../http/schemas.ts'
import type { Services } from '../../services.ts'
import { readDeploymentUsage } from '../metering/deployment-usage.ts'
import { planDeployment } from '../placement/plan.ts'
import { planBody, toPlanBody } from '../placement/schemas.ts'
import { accessDeployment } from './state/access-deployment.ts'
import { readAsleepTime } from './changes/asleep-time.ts'
import { changeDeployment } from './changes/change-deployment.ts'
import {
  createDeploymentBody,
  toRequirements,
  toVariantChoice,
  toUpdate,
  updateDeploymentBody,
} from './change-schemas.ts'
import { toListScope } from './state/list-scope.ts'
import { presentDeployment, presentDeployments } from './present-deployments.ts'
import { requestDeployment } from './changes/request.ts'
import {
  deploymentBody,
  deploymentParams,
  deploymentQuery,
  deploymentUsageBody,
  deploymentsBody,
  listDeploymentsQuery,
  toDeploymentUsageBody,
  toFilter,
  toReference,
} from './schemas.ts'
import { listDeployments } from './state/deployment-list.ts'
import { putToSleep } from './changes/sleep.ts'
import { terminateDeployment } from './changes/terminate.ts'
import { wakeForPerson } from './serving/wake.ts'
import { measureWeightCache } from './serving/weight-cache-metrics.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'notifications' | 'runtimes' | 'prices'>

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
  'external_not_allowed',
] as const

export function deploymentRoutes(app: App, deps: Deps): void {
  measureWeightCache(app.metrics, deps.runtimes)

  app.get(
    prefix,
    {
      config: { permission: 'readOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'listDeployments',
        summary: 'List your deployments, those that you may call, or those of your organization',
        tags,
        querystring: listDeploymentsQuery,
        response: { 200: deploymentsBody },
      },
    },
    async ({ query, viewer }) => {
      const scope = toListScope(viewer, query.scope)
      const { limit, offset } = query
      const { currency } = deps.config.billing
      const page = { limit, offset, counts: query.counts, now: deps.clock(), currency }
      const order = toListOrder(query.sort)
      const { items, total, counts } = await listDeployments(deps.db, scope, toFilter(query), order, page)
      const bodies = await presentDeployments(deps, items)
      return { items: bodies, total, limit, offset, counts }
    },
  )

  app.post(
    prefix,
    {
      config: { permission: 'createDeployments', requiresVerifiedEmail: true, creates: 'atomically' },
      schema: {
        operationId: 'createDeployment',
        summary: 'Deploy a model from the catalog',
        description: 'Returns immediately. Provisioning continues in the background.',
        tags,
        body: createDeploymentBody,
        response: { 201: deploymentBody },
        errors: [...deploymentErrors, 'alias_taken', 'not_for_endpoints', 'runtime_unavailable'],
      },
    },
    async (request, reply) => {
      const { body, viewer } = request
      const joined = joinResponse(deps, request)
      const deployment = await requestDeployment(
        joined,
        viewer,
        toVariantChoice(body),
        toRequirements(body),
        {
          alias: body.alias,
          engineOptions: body.engine_options,
          managedBy: body.managed_by,
          managedName: body.managed_name,
        },
      )
      return reply.code(201).send(await presentDeployment(joined, deployment))
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
    async ({ body, viewer }) => {
      const plan = await planDeployment(
        deps,
        viewer.organizationId,
        toVariantChoice(body),
        toRequirements(body),
        body.engine_options,
      )
      return toPlanBody(plan, deps.config.billing.currency)
    },
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
        querystring: deploymentQuery,
        response: { 200: deploymentBody },
        errors: ['not_found'],
      },
    },
    async ({ params, query, viewer }) =>
      presentDeployment(deps, await accessDeployment(deps, viewer, 'read', toReference(params, query))),
  )

  app.patch(
    `${prefix}/:deployment_id`,
    {
      config: { permission: 'createDeployments', anyOrganization: true },
      schema: {
        operationId: 'updateDeployment',
        summary:
          'Update what a deployment must be able to serve, its LoRAs, its engine options, its policy, its callers, and its alias',
        description:
          'Omitted fields stay. A deployment that does not serve yet moves to an instance that is large enough. A running one ' +
          'serves until a larger instance takes over, and says so in `waiting_for`; without room for both, it moves when its engine starts ' +
          'next. A change with which no engine starts is taken back, and an event says why. The owner and admins of the organization may share it. ' +
          'The alias of a shared deployment belongs to its owner: another owner gets a 409 `alias_taken`, and an admin moves it. ' +
          'A model of an endpoint takes no settings of what Berth starts: a 400 `not_for_endpoints` names them.',
        tags,
        params: deploymentParams,
        querystring: deploymentQuery,
        body: updateDeploymentBody,
        response: { 200: deploymentBody },
        errors: [
          'not_found',
          'alias_taken',
          'deployment_ended',
          'no_feasible_instance',
          'adapter_not_supported',
          'not_for_endpoints',
          'resource_limit_reached',
          'payment_past_due',
          'account_suspended',
          'billing_not_activated',
          'runtime_unavailable',
        ],
      },
    },
    async ({ params, query, body, viewer }) =>
      presentDeployment(
        deps,
        await changeDeployment(deps, viewer, toReference(params, query), toUpdate(body)),
      ),
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
        querystring: deploymentQuery,
        response: { 200: deploymentBody },
        errors: ['not_found'],
      },
    },
    async ({ params, query, viewer }) =>
      presentDeployment(deps, await terminateDeployment(deps, viewer, toReference(params, query))),
  )

  app.post(
    `${prefix}/:deployment_id/sleep`,
    {
      config: { permission: 'createDeployments', anyOrganization: true },
      schema: {
        operationId: 'putDeploymentToSleep',
        summary: 'Put a running deployment to sleep',
        description:
          'Requests in flight have 30 seconds to finish; then the hardware is released, and nothing is billed until a request, or `wake`, ' +
          'wakes the deployment. Changes nothing if it sleeps already.',
        tags,
        params: deploymentParams,
        querystring: deploymentQuery,
        response: { 200: deploymentBody },
        errors: ['not_found', 'deployment_ended', 'not_for_endpoints'],
        conflicts: ['deployment_not_ready'],
      },
    },
    async ({ params, query, viewer }) =>
      presentDeployment(deps, await putToSleep(deps, viewer, toReference(params, query))),
  )

  app.post(
    `${prefix}/:deployment_id/wake`,
    {
      config: { permission: 'createDeployments', anyOrganization: true },
      schema: {
        operationId: 'wakeDeployment',
        summary: 'Wake a sleeping deployment',
        description:
          'Returns immediately; the deployment starts in the background. Changes nothing if it is awake. ' +
          'A late payment does not prevent it, because a running deployment goes on too.',
        tags,
        params: deploymentParams,
        querystring: deploymentQuery,
        response: { 200: deploymentBody },
        errors: [
          'not_found',
          'deployment_ended',
          'budget_exhausted',
          'trial_credit_exhausted',
          'account_suspended',
          'billing_not_activated',
        ],
      },
    },
    async ({ params, query, viewer }) =>
      presentDeployment(deps, await wakeForPerson(deps, viewer, toReference(params, query))),
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
        querystring: deploymentQuery,
        response: { 200: deploymentUsageBody },
        errors: ['not_found'],
      },
    },
    async ({ params, query, viewer }) => {
      const deployment = await accessDeployment(deps, viewer, 'inspect', toReference(params, query))
      const [usage, asleep] = await Promise.all([
        readDeploymentUsage(deps, deployment),
        readAsleepTime(deps, deployment),
      ])
      return toDeploymentUsageBody(usage, asleep)
    },
  )
}
