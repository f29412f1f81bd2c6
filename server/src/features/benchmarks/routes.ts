import type { AddressInfo } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { ApplicationError, NotFoundError } from '../../base/errors.ts'
import type { Viewer } from '../../base/viewer.ts'
import type { App } from '../../http/app.ts'
import type { Services } from '../../services.ts'
import { parseStoredVariant } from '../catalog/stored-model.ts'
import { accessDeployment, hasAccess } from '../deployments/state/access-deployment.ts'
import type { DeploymentReference } from '../deployments/state/access-deployment.ts'
import { deploymentParams, deploymentQuery, toReference } from '../deployments/schemas.ts'
import { runBenchmark } from './run-benchmark.ts'
import { benchmarkBody, benchmarkInput, benchmarkParams, benchmarksBody, toBenchmarkBody } from './schemas.ts'
import { endBenchmark, findBenchmark, insertBenchmark, listBenchmarks } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'prices' | 'log' | 'config'>

const path = '/api/v1/model-deployments/:deployment_id/benchmarks'
const tags = ['Deployments']

/** The routes that measure what a running deployment does. */
export function benchmarkRoutes(app: App, deps: Deps): void {
  const { db } = deps
  const { currency } = deps.config.billing

  app.post(
    path,
    {
      config: { permission: 'useOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'startBenchmark',
        summary: 'Measure a running deployment',
        description:
          'For its owner and admins who may call it. The requests are yours: they wait in turn, count as usage, and obey limits and budgets. ' +
          'Each step waits up to a minute longer than `seconds` for its responses.',
        tags,
        params: deploymentParams,
        querystring: deploymentQuery,
        body: benchmarkInput,
        response: { 201: benchmarkBody },
        errors: [
          'not_found',
          'forbidden',
          'benchmark_running',
          'deployment_not_running',
          'model_not_measurable',
        ],
      },
    },
    async (request, reply) => {
      const { params, query, body, viewer } = request
      const deployment = await accessMeasurable(deps, viewer, toReference(params, query))
      const benchmark = await insertBenchmark(db, deployment.id, viewer.userId, body, deps.clock())
      if (benchmark === null) {
        throw new ApplicationError(
          'benchmark_running',
          'Another benchmark of the deployment runs. Stop it first.',
        )
      }
      void runBenchmark(deps, benchmark, reachAsCaller(app, request), app.draining)
      reply.code(201)
      return toBenchmarkBody(benchmark)
    },
  )

  app.get(
    path,
    {
      config: { permission: 'readOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'listBenchmarks',
        summary: 'List the benchmarks of a deployment, newest first',
        description: 'For its owner and admins.',
        tags,
        params: deploymentParams,
        querystring: deploymentQuery,
        response: { 200: benchmarksBody },
        errors: ['not_found'],
      },
    },
    async ({ params, query, viewer }) => {
      const { id } = await accessDeployment(deps, viewer, 'inspect', toReference(params, query))
      return { items: (await listBenchmarks(db, id)).map(toBenchmarkBody), currency }
    },
  )

  const find = async (
    viewer: Viewer,
    { number, ...params }: { number: number; deployment_id: string },
    query: Pick<DeploymentReference, 'scope'>,
  ) => {
    const { id } = await accessDeployment(deps, viewer, 'inspect', toReference(params, query))
    const found = await findBenchmark(db, { deployment_id: id, number })
    if (found === null) throw new NotFoundError('Benchmark not found.')
    return found
  }

  app.get(
    `${path}/:number`,
    {
      config: { permission: 'readOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'getBenchmark',
        summary: 'Get a benchmark of a deployment',
        description: 'For its owner and admins.',
        tags,
        params: benchmarkParams,
        querystring: deploymentQuery,
        response: { 200: benchmarkBody },
        errors: ['not_found'],
      },
    },
    async ({ params, query, viewer }) => toBenchmarkBody(await find(viewer, params, query)),
  )

  app.delete(
    `${path}/:number`,
    {
      config: { permission: 'useOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'stopBenchmark',
        summary: 'Stop a benchmark',
        description: 'For its owner and admins. A finished one doesn’t change.',
        tags,
        params: benchmarkParams,
        querystring: deploymentQuery,
        response: { 200: benchmarkBody },
        errors: ['not_found'],
      },
    },
    async ({ params, query, viewer }) => {
      await endBenchmark(db, await find(viewer, params, query), { status: 'stopped' }, deps.clock())
      return toBenchmarkBody(await find(viewer, params, query))
    },
  )
}

/** The deployment, if the viewer may inspect and call it, and it serves chats now. */
async function accessMeasurable(
  deps: Deps,
  viewer: Viewer,
  reference: DeploymentReference,
): Promise<{ id: string }> {
  const { id, user_id: ownerId } = await accessDeployment(deps, viewer, 'inspect', reference)
  if (ownerId !== viewer.userId && !(await hasAccess(deps, viewer, 'call', id))) {
    throw new ApplicationError('forbidden', 'Only those who may call the deployment can measure it.')
  }
  const deployment = await accessDeployment(deps, viewer, 'call', reference)
  if (parseStoredVariant(deployment).modelType !== 'LLM') {
    throw new ApplicationError(
      'model_not_measurable',
      'Benchmarks measure chats, which this model does not answer.',
    )
  }
  if (deployment.status !== 'running') {
    const message = `The deployment is ${deployment.status}, not running.`
    throw new ApplicationError('deployment_not_running', message)
  }
  return deployment
}

/** This process, as the caller of a request reaches it. */
function reachAsCaller(app: App, { headers }: FastifyRequest) {
  const { address, family, port } = app.server.address() as AddressInfo
  const host =
    family === 'IPv6' ? `[${address === '::' ? '::1' : address}]` : address.replace('0.0.0.0', '127.0.0.1')
  const { cookie, authorization, host: name } = headers
  return {
    origin: `http://${host}:${port}`,
    headers: {
      ...(cookie !== undefined && { cookie }),
      ...(authorization !== undefined && { authorization }),
      ...(name !== undefined && { host: name }),
      'user-agent': 'Berth benchmark',
    },
  }
}
