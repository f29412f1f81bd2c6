import type { App } from '../../http/app.ts'
import type { Services } from '../../services.ts'
import { accessDeployment } from '../deployments/state/access-deployment.ts'
import { deploymentParams, toReference } from '../deployments/schemas.ts'
import { listRequests } from '../metering/list-requests.ts'
import {
  deploymentRequestsBody,
  deploymentRequestsQuery,
  requestsBody,
  requestsQuery,
  toDeploymentRequestItem,
  toNextCursor,
  toRequestFilter,
  toRequestItem,
} from './request-schemas.ts'

const kept =
  'Kept for REQUEST_LOG_RETENTION, and a few seconds behind. The list has every request whose body could be read, also those ' +
  'that were refused, such as with `model_not_found`. Each process of the server keeps up to 1,000 requests of a ' +
  'second, at most 500 of them with a success at the first attempt. It never has their content.'

export function requestRoutes(app: App, deps: Pick<Services, 'db' | 'prices' | 'config'>): void {
  const { currency } = deps.config.billing
  app.get(
    '/v1/requests',
    {
      config: { permission: null, admitsServices: true },
      schema: {
        operationId: 'listOwnRequests',
        summary: 'List your requests to models in your current organization, newest first',
        description: kept,
        tags: ['Inference'],
        querystring: requestsQuery,
        response: { 200: requestsBody },
      },
    },
    async ({ query, viewer: { userId, organizationId } }) => {
      const filter = toRequestFilter(query, { userId, organizationId })
      const { items, hasMore } = await listRequests(deps, filter, query.limit)
      return { items: items.map(toRequestItem), next_cursor: toNextCursor(items, hasMore), currency }
    },
  )

  app.get(
    '/api/v1/model-deployments/:deployment_id/requests',
    {
      config: { permission: 'readOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'listDeploymentRequests',
        summary: 'List the requests to a deployment, newest first',
        description: `For its owner and admins. ${kept}`,
        tags: ['Deployments'],
        params: deploymentParams,
        querystring: deploymentRequestsQuery,
        response: { 200: deploymentRequestsBody },
        errors: ['not_found'],
      },
    },
    async ({ params, query, viewer }) => {
      const { id: deploymentId } = await accessDeployment(deps, viewer, 'inspect', toReference(params, query))
      const { items, hasMore } = await listRequests(
        deps,
        toRequestFilter(query, { deploymentId }),
        query.limit,
      )
      return {
        items: items.map(toDeploymentRequestItem),
        next_cursor: toNextCursor(items, hasMore),
        currency,
      }
    },
  )
}
