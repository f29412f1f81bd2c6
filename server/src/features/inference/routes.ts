import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../../http/app.ts'
import { logServerError, toPublicError } from '../../http/errors.ts'
import { parseRawBodies } from '../../http/raw-body.ts'
import type { Services } from '../../services.ts'
import { listServingDeployments } from '../deployments/serving-deployments.ts'
import { logExchange } from './account.ts'
import { Exchange } from './exchange.ts'
import type { CallerSide, InferencePath } from './exchange.ts'
import type { ExchangeDeps } from './exchange.ts'
import { measureExchanges } from './metrics.ts'
import { recordStatistics } from './record-statistics.ts'
import { readInferenceRequest } from './request-body.ts'
import {
  chatBody,
  embeddingsBody,
  engineAnswer,
  modelsBody,
  openAiErrorBody,
  toOpenAiError,
} from './schemas.ts'
import { loadTargets, recallTargets } from './targets.ts'
import type { EngineTarget } from './targets.ts'

type Deps = ExchangeDeps & Pick<Services, 'config'>

const tags = ['Inference']
const errorStatuses = [400, 401, 403, 404, 413, 415, 429, 500, 502, 503, 504] as const
const errors = Object.fromEntries(errorStatuses.map((status) => [status, openAiErrorBody]))

/** The routes that speak OpenAI's protocol: in a scope of their own, because bodies stay raw and errors have another shape. */
export function inferenceRoutes(app: App, application: Deps): void {
  app.setErrorHandler((error, request, reply) => {
    // The caller has left, which ended the engine's request with an error that nobody needs to hear of.
    if (reply.raw.destroyed) return reply.hijack()
    const seen = toPublicError(error)
    logServerError(seen, error, request)
    const { status, body } = toOpenAiError(seen)
    if (seen.retryAfterSeconds) reply.header('retry-after', seen.retryAfterSeconds)
    return reply.code(status).type('application/json').serializer(JSON.stringify).send(body)
  })
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', parseRawBodies(application.config.inferenceBodyLimit))
  // The schemas of the bodies describe them in OpenAPI; what they hold is the engine's to judge.
  app.setValidatorCompiler(() => (value) => ({ value }))

  const measure = measureExchanges(app.metrics, application.engines)
  const account = (exchange: Exchange) => {
    measure(exchange)
    recordStatistics(application.engines.statistics, exchange)
    exchange.span?.end(exchange)
    logExchange(application.log, exchange)
  }
  for (const [path, operationId, summary, body] of [
    ['/v1/chat/completions', 'createChatCompletion', 'Chat with a deployed model', chatBody],
    ['/v1/embeddings', 'createEmbeddings', 'Embed texts with a deployed model', embeddingsBody],
  ] as const) {
    app.post(
      path,
      {
        bodyLimit: application.config.inferenceBodyLimit,
        config: { permission: 'useOwnDeployments', cachesViewer: true },
        schema: { operationId, summary, tags, body, response: { 200: engineAnswer, ...errors } },
      },
      (request, reply) => infer(application, path, { request, reply, account }),
    )
  }

  app.get(
    '/v1/models',
    {
      config: { permission: 'useOwnDeployments' },
      schema: {
        operationId: 'listModels',
        summary: 'List the models that your running deployments serve',
        tags,
        response: { 200: modelsBody, 401: openAiErrorBody, 403: openAiErrorBody },
      },
    },
    async ({ viewer }) => {
      const serving = await listServingDeployments(application, viewer)
      const byName = Map.groupBy(serving, ({ modelName }) => modelName)
      return {
        object: 'list' as const,
        data: [...byName].map(([id, deployments]) => ({
          id,
          object: 'model' as const,
          created: Math.floor(Math.min(...deployments.map(({ createdAt }) => createdAt.getTime())) / 1000),
          owned_by: viewer.organizationName,
          deployments: deployments.map(({ deploymentId }) => deploymentId),
        })),
      }
    },
  )
}

/** Answers by itself, at once where memory knows where to go; what it throws is answered in the usual way. */
function infer(
  application: Deps,
  path: InferencePath,
  side: CallerSide & { request: FastifyRequest; reply: FastifyReply },
): void {
  const receivedAt = performance.now()
  const { request, reply } = side
  const asked = readInferenceRequest(request.body as Buffer)
  request.body = undefined
  const begin = (targets: readonly EngineTarget[]) => {
    // Who left while the deployment was looked up leaves nothing to do.
    if (reply.raw.destroyed) return
    const exchange = new Exchange(application, path, side, asked, targets, receivedAt)
    exchange.begin()
    reply.raw.once('close', () => exchange.close())
  }
  const recalled = recallTargets(application.engines.targets, request.viewer, asked.model)
  if (recalled !== undefined) return begin(recalled)
  loadTargets(application, request.viewer, asked.model)
    .then(begin)
    .catch((error: unknown) => reply.send(error))
}
