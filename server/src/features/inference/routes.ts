import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApplicationError } from '../../errors.ts'
import { freeBuffer } from '../../free-buffer.ts'
import type { App } from '../../http/app.ts'
import { createBodyBudget } from '../../http/body-budget.ts'
import { logServerError, toPublicError } from '../../http/errors.ts'
import { jsonOrEvents } from '../../http/openapi.ts'
import { parseRawBodies } from '../../http/raw-body.ts'
import type { Log } from '../../log.ts'
import type { ModelType } from '../../ports/model-runtime.ts'
import type { Services } from '../../services.ts'
import { listServingDeployments, resolveDeployments } from '../deployments/serving-deployments.ts'
import type { ServingDeployment } from '../deployments/serving-deployments.ts'
import type { Viewer } from '../../viewer.ts'
import { modelNotFound } from './find-targets.ts'
import { createAccessLog } from './access-log.ts'
import type { Caller } from './caller.ts'
import { Exchange } from './exchange.ts'
import type { ExchangeDeps } from './exchange.ts'
import type { FinishedExchange, InferencePath } from './finished-exchange.ts'
import { measureExchanges } from './metrics.ts'
import { recordStatistics } from './record-statistics.ts'
import { readInferenceRequest } from './request-body.ts'
import type { InferenceRequest } from './request-body.ts'
import {
  chatBody,
  embeddingsBody,
  engineResponse,
  modelBody,
  modelParams,
  modelsBody,
  openAiErrorBody,
  toOpenAiError,
} from './schemas.ts'
import { loadTargets, recallTargets } from './targets.ts'
import type { EngineTarget } from './targets.ts'

const tags = ['Inference']
const errorStatuses = [400, 401, 403, 404, 408, 413, 415, 429, 500, 502, 503, 504] as const
const errors = Object.fromEntries(errorStatuses.map((status) => [status, openAiErrorBody]))

interface Deps extends ExchangeDeps, Pick<Services, 'config' | 'secretKey'> {
  log: Log
}

/** The routes of OpenAI's API. They need a scope of their own, because bodies stay raw and errors have OpenAI's shape. */
export function inferenceRoutes(app: App, deps: Deps): void {
  app.setErrorHandler((error, request, reply) => {
    // The caller has left, so the error has no recipient.
    if (reply.raw.destroyed) return reply.hijack()
    const publicError = toPublicError(error)
    logServerError(publicError, error, request)
    const { status, body } = toOpenAiError(publicError)
    if (publicError.retryAfterSeconds) reply.header('retry-after', publicError.retryAfterSeconds)
    return reply.code(status).type('application/json').serializer(JSON.stringify).send(body)
  })
  app.removeContentTypeParser('application/json')
  const holdBody = createBodyBudget(deps.config.inference.bodies)
  app.addContentTypeParser('application/json', parseRawBodies(deps.config.inferenceBodyLimit, holdBody))
  // The body schemas are documentation: the engine validates the bodies.
  app.setValidatorCompiler(() => (value) => ({ value }))

  const measure = measureExchanges(app.metrics, deps.inference)
  const log = createAccessLog(deps.log)
  const onFinished = (exchange: FinishedExchange) => {
    measure(exchange)
    recordStatistics(deps.inference.statistics, exchange)
    log(exchange)
  }
  for (const [path, operationId, summary, body, ok] of [
    [
      '/v1/chat/completions',
      'createChatCompletion',
      'Chat with a deployed model',
      chatBody,
      jsonOrEvents(engineResponse),
    ],
    [
      '/v1/embeddings',
      'createEmbeddings',
      'Embed texts with a deployed model',
      embeddingsBody,
      engineResponse,
    ],
  ] as const) {
    app.post(
      path,
      {
        bodyLimit: deps.config.inferenceBodyLimit,
        config: { permission: 'useOwnDeployments', cachesViewer: true },
        schema: { operationId, summary, tags, body, response: { 200: ok, ...errors } },
      },
      (request, reply) => infer(deps, path, { request, reply, onFinished }),
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
        response: { 200: modelsBody, 401: openAiErrorBody, 403: openAiErrorBody, 503: openAiErrorBody },
      },
    },
    async ({ viewer }) => {
      const serving = await listServingDeployments(deps, viewer)
      const byName = Map.groupBy(serving, ({ modelName }) => modelName)
      const data = [...byName].map(([id, deployments]) => toModel(id, deployments, viewer))
      return { object: 'list' as const, data }
    },
  )

  app.get(
    '/v1/models/:model',
    {
      config: { permission: 'useOwnDeployments' },
      schema: {
        operationId: 'getModel',
        summary: 'Get a model that your running deployments serve',
        tags,
        params: modelParams,
        response: { 200: modelBody, 401: openAiErrorBody, 403: openAiErrorBody, 404: openAiErrorBody },
      },
    },
    async ({ viewer, params: { model } }) => {
      const found = await resolveDeployments(deps, viewer, model)
      const serving = found.filter(({ status }) => status === 'running')
      if (serving.length === 0) throw modelNotFound(model)
      return toModel(model, serving, viewer)
    },
  )
}

function toModel(id: string, deployments: readonly ServingDeployment[], viewer: Viewer) {
  return {
    id,
    object: 'model' as const,
    created: Math.floor(Math.min(...deployments.map(({ createdAt }) => createdAt.getTime())) / 1000),
    owned_by: viewer.organizationName,
    deployments: deployments.map(({ deploymentId }) => deploymentId),
  }
}

/** Starts an exchange, which sends the response itself. Synchronous when the targets are cached. Errors are sent through Fastify. */
function infer(
  deps: Deps,
  path: InferencePath,
  caller: Caller & { request: FastifyRequest; reply: FastifyReply },
): void {
  const receivedAt = performance.now()
  const { request, reply } = caller
  const { bodyHold } = request
  if (bodyHold) reply.raw.once('close', () => bodyHold.release())
  const bytes = request.body as Buffer
  const read = readInferenceRequest(bytes, deps.inference.slices)
  request.body = undefined
  const start = (inferenceRequest: InferenceRequest, targets: readonly EngineTarget[]) => {
    // The caller may have left meanwhile.
    if (reply.raw.destroyed) return
    requireModelType(targets[0]!, path)
    const exchange = new Exchange(deps, path, caller, inferenceRequest, targets, receivedAt)
    exchange.start()
    reply.raw.once('close', () => exchange.close())
  }
  if (!(read instanceof Promise)) {
    const cached = recallTargets(deps.inference.targets, request.viewer, read.model)
    if (cached !== undefined) return start(read, cached)
  }
  const readAndStart = async () => {
    const inferenceRequest = await Promise.resolve(read).catch((error: unknown) => {
      freeBuffer(bytes)
      throw error
    })
    const { model } = inferenceRequest
    const cached = recallTargets(deps.inference.targets, request.viewer, model)
    start(inferenceRequest, cached ?? (await loadTargets(deps, request.viewer, model)))
  }
  readAndStart().catch((error: unknown) => reply.send(error))
}

const pathOfType: Record<ModelType, InferencePath> = {
  LLM: '/v1/chat/completions',
  embedding: '/v1/embeddings',
}

/** Throws a 400 for chat with an embedding model, and for embeddings of a chat model. */
function requireModelType({ modelName, modelType }: EngineTarget, path: InferencePath): void {
  if (pathOfType[modelType] === path) return
  const kind = modelType === 'LLM' ? 'a chat model' : 'an embedding model'
  const message = `${modelName} is ${kind}. Send its requests to ${pathOfType[modelType]}.`
  throw new ApplicationError('malformed', 'invalid_request_error', message)
}
