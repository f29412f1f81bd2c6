import type { App } from '../../http/app.ts'
import { joinResponse } from '../../http/creation.ts'
import { noContent } from '../../http/openapi/responses.ts'
import { roleCan } from '../../base/roles.ts'
import type { Services } from '../../services.ts'
import { limitReads } from '../own-models/limit-reads.ts'
import {
  addEndpoint,
  changeEndpoint,
  checkEndpoint,
  getEndpoint,
  removeEndpoint,
} from './manage-endpoints.ts'
import {
  createEndpointBody,
  endpointBody,
  endpointCheckBody,
  endpointParams,
  endpointsBody,
  toChanges,
  toCheckBody,
  toEndpointBody,
  toSettings,
  updateEndpointBody,
} from './schemas.ts'
import { listEndpoints } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>

const tags = ['Endpoints']
const prefix = '/api/v1/endpoints'
const manage = { permission: 'manageModels' } as const

/** The servers with OpenAI's protocol that an organization uses and Berth does not run. */
export function endpointRoutes(app: App, deps: Deps): void {
  const runCheck = limitReads()

  app.get(
    prefix,
    {
      config: { permission: 'readCatalog' },
      schema: {
        operationId: 'listEndpoints',
        summary: 'List the endpoints of your current organization',
        tags,
        response: { 200: endpointsBody },
      },
    },
    async ({ viewer }) => {
      const isManager = roleCan(viewer.role, manage.permission)
      const endpoints = await listEndpoints(deps.db, viewer.organizationId)
      return { items: endpoints.map((endpoint) => toEndpointBody(endpoint, isManager)) }
    },
  )

  app.post(
    prefix,
    {
      config: { ...manage, creates: 'atomically' },
      schema: {
        operationId: 'createEndpoint',
        summary: 'Add an endpoint: a server with OpenAI’s protocol that already runs',
        description:
          'Checks it first, and adds it in any case. `status` has the finding. Berth starts nothing there.',
        tags,
        body: createEndpointBody,
        response: { 201: endpointBody },
        errors: ['endpoint_exists', 'too_many_endpoints', 'server_busy'],
      },
    },
    async (request, reply) => {
      const { body, viewer } = request
      const add = () => addEndpoint(joinResponse(deps, request), viewer, toSettings(body))
      const { endpoint } = await runCheck(viewer.organizationId, add)
      return reply.code(201).send(toEndpointBody(endpoint, true))
    },
  )

  app.get(
    `${prefix}/:endpoint_id`,
    {
      config: { permission: 'readCatalog' },
      schema: {
        operationId: 'getEndpoint',
        summary: 'Get an endpoint of your current organization',
        tags,
        params: endpointParams,
        response: { 200: endpointBody },
        errors: ['not_found'],
      },
    },
    async ({ params, viewer }) => {
      const endpoint = await getEndpoint(deps, viewer, params.endpoint_id)
      return toEndpointBody(endpoint, roleCan(viewer.role, manage.permission))
    },
  )

  app.patch(
    `${prefix}/:endpoint_id`,
    {
      config: manage,
      schema: {
        operationId: 'updateEndpoint',
        summary: 'Update an endpoint',
        description: 'Another address, key, header or choice of models checks it.',
        tags,
        params: endpointParams,
        body: updateEndpointBody,
        response: { 200: endpointBody },
        errors: ['not_found', 'endpoint_exists', 'server_busy'],
      },
    },
    async ({ body, params, viewer }) => {
      const change = () => changeEndpoint(deps, viewer, params.endpoint_id, toChanges(body))
      return toEndpointBody(await runCheck(viewer.organizationId, change), true)
    },
  )

  app.delete(
    `${prefix}/:endpoint_id`,
    {
      config: manage,
      schema: {
        operationId: 'deleteEndpoint',
        summary: 'Delete an endpoint with its key and its models',
        tags,
        params: endpointParams,
        response: { 204: noContent },
        errors: ['not_found', 'endpoint_in_use'],
      },
    },
    async ({ params, viewer }, reply) => {
      await removeEndpoint(deps, viewer, params.endpoint_id)
      return reply.code(204).send(null)
    },
  )

  app.post(
    `${prefix}/:endpoint_id/check`,
    {
      config: manage,
      schema: {
        operationId: 'checkEndpoint',
        summary: 'Check an endpoint',
        description:
          'Asks it for its models and for one token, and says what answered. Follows no redirects, and waits for at most a minute and a half.',
        tags,
        params: endpointParams,
        response: { 200: endpointCheckBody },
        errors: ['not_found', 'server_busy'],
      },
    },
    async ({ params, viewer }) => {
      const check = () => checkEndpoint(deps, viewer, params.endpoint_id)
      return toCheckBody(await runCheck(viewer.organizationId, check))
    },
  )
}
