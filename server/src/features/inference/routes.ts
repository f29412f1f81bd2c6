import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApplicationError } from '../../base/errors.ts'
import type { App } from '../../http/app.ts'
import { createBodyBudget } from '../../http/body-budget.ts'
import { logServerError, toPublicError } from '../../http/errors.ts'
import { jsonOrEvents } from '../../http/openapi/responses.ts'
import type { ErrorResponse } from '../../http/fast-path.ts'
import { parseRawBodies } from '../../http/raw-body.ts'
import type { RawBodyParser } from '../../http/raw-body.ts'
import type { Services } from '../../services.ts'
import { requireCallable } from '../deployments/serving/serving-deployments.ts'
import type { Caller } from './arrival/caller.ts'
import { HeldCall } from './waiting/held-call.ts'
import { holdStream } from './waiting/held-stream.ts'
import { Exchange } from './sending/exchange.ts'
import type { ExchangeDeps } from './sending/exchange.ts'
import { toLogMembers } from './counting/finished-exchange.ts'
import type { FinishedExchange } from './counting/finished-exchange.ts'
import type { Inference } from './sending/inference.ts'
import { measureExchanges } from './metrics.ts'
import { openAiErrors } from './protocols/openai.ts'
import type { ErrorFormat, Protocol } from './protocols/protocol.ts'
import { mainProtocols, protocols } from './protocols/protocols.ts'
import { chooseWay, findHonoring, listWays } from './arrival/choose-way.ts'
import type { Way } from './arrival/choose-way.ts'
import { AsleepError, modelNotFound } from './targets/find-targets.ts'
import { modelRoutes } from './model-routes.ts'
import { recordStatistics } from './counting/record-statistics.ts'
import type { InferenceRequest } from './arrival/request-body.ts'
import { sendAgain } from './sending/send-again.ts'
import type { UnansweredRequest } from './sending/send-again.ts'
import { translateRequest } from './arrival/translate-request.ts'
import type { ReadRequest } from './arrival/translate-request.ts'
import { loadTargets, recallTargets } from './targets/targets.ts'
import type { EngineTarget } from './targets/targets.ts'

const inferenceErrors = [
  'invalid_request_error',
  'model_not_found',
  'route_not_supported',
  'deployment_failed',
  'deployment_not_ready',
  'deployment_waking',
  'no_capacity',
  'insufficient_quota',
  'rate_limited',
  'upstream_unavailable',
  'upstream_timeout',
] as const

interface Deps
  extends
    Omit<ExchangeDeps, 'inference' | 'onFinished' | 'sendAgain'>,
    Pick<Services, 'config' | 'log' | 'runtime' | 'secretKey'> {
  inference: Inference
}

/**
 * The routes of the inference protocols. They need a scope of their own, because bodies stay raw and errors
 * have other shapes.
 */
export function inferenceRoutes(app: App, deps: Deps): void {
  const { bodies } = deps.config.inference
  app.setErrorHandler(sendErrorsAs(openAiErrors))
  app.removeContentTypeParser('application/json')
  const parse = parseRawBodies(deps.config.inferenceBodyLimit, createBodyBudget(bodies))
  app.addContentTypeParser('application/json', parse)
  // The body schemas are documentation: the engine validates the bodies.
  app.setValidatorCompiler(() => (value) => ({ value }))

  const measure = measureExchanges(app.metrics, deps.inference)
  const onFinished = (exchange: FinishedExchange) => {
    measure(exchange)
    recordStatistics(deps.inference.statistics, exchange)
    deps.log.infoMembers(toLogMembers(exchange), 'request')
  }
  const again = { ...deps, holdStream: holdForModel }
  const inferDeps = {
    ...deps,
    onFinished,
    sendAgain: (request: UnansweredRequest, error: unknown) => sendAgain(again, request, error),
  }
  for (const protocol of protocols) addProtocol(app, inferDeps, protocol, parse)
  modelRoutes(app, deps)
}

/** Composes the response to an error in this format. */
function composeError(
  format: ErrorFormat,
  error: unknown,
  { id, log, storage }: Pick<FastifyRequest, 'id' | 'log'> & Pick<App, 'storage'>,
): ErrorResponse {
  const publicError = toPublicError(error)
  logServerError(publicError, error, storage, log)
  const { status, body } = format.compose(publicError, id)
  const { retryAfterSeconds } = publicError
  return {
    status,
    headers: retryAfterSeconds ? { 'retry-after': String(retryAfterSeconds) } : {},
    body: JSON.stringify(body),
  }
}

/** Returns an error handler that sends errors in this format. */
function sendErrorsAs(format: ErrorFormat) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    // The caller has left, so the error has no recipient.
    if (reply.raw.destroyed) return void reply.hijack()
    const { id, log, server } = request
    const { status, headers, body } = composeError(format, error, { id, log, storage: server.storage })
    void reply.code(status).headers(headers).type('application/json').send(body)
  }
}

/** Adds the route of a protocol, to Fastify and to the fast path. */
function addProtocol(app: App, deps: InferDeps, protocol: Protocol, parse: RawBodyParser): void {
  const { path, description, errors } = protocol
  const { operationId, summary, request: body, response, events } = description
  const ways = listWays(protocol, deps.config.mediaDomains)
  const access = { permission: 'useOwnDeployments', anyOrganization: true } as const
  app.post(
    path,
    {
      bodyLimit: deps.config.inferenceBodyLimit,
      config: { ...access, cachesViewer: true, readsRawBody: true },
      errorHandler: sendErrorsAs(errors),
      schema: {
        operationId,
        summary,
        description: 'An error of the engine keeps its own status and body.',
        tags: ['Inference'],
        body,
        response: { 200: events === null ? response : jsonOrEvents(response, events) },
        errors: inferenceErrors,
        errorBody: errors.body,
      },
    },
    (request, reply) => {
      const bytes = request.body as Buffer
      request.body = undefined
      const arrivedAt = performance.now() - reply.elapsedTime
      infer(deps, ways, { request, reply, arrivedAt }, bytes)
    },
  )
  app.fastPath.add({
    path,
    access,
    parse,
    composeError: (error, { id, log }) => composeError(errors, error, { id, log, storage: app.storage }),
    handle: (call, bytes) =>
      infer(deps, ways, { request: call, reply: call, arrivedAt: call.startedAt }, bytes),
  })
}

type InferDeps = Deps & Pick<ExchangeDeps, 'onFinished' | 'sendAgain'>

/**
 * Reads a request and starts an exchange, which sends the response itself. Stays synchronous while nothing
 * has to be waited for: bodies are short and targets are cached. Errors are sent through the caller's reply.
 */
function infer(deps: InferDeps, ways: readonly [Way, ...Way[]], arrived: Caller, body: Buffer): void {
  const receivedAt = performance.now()
  const { request, reply } = arrived
  const { bodyHold, viewer } = request
  let caller = arrived
  const { protocol } = ways[0]
  if (bodyHold) reply.raw.once('close', () => bodyHold.release())

  const exchange = (
    { protocol }: Way,
    { request: read, answers }: ReadRequest,
    targets: readonly EngineTarget[],
  ) => {
    // The caller may have left meanwhile.
    if (reply.raw.destroyed) return
    const started = new Exchange(deps, { protocol, caller, request: read, answers, targets, receivedAt })
    started.start()
    closeWithResponse(started, reply.raw)
  }
  const start = (
    inferenceRequest: InferenceRequest,
    found: readonly EngineTarget[],
  ): void | Promise<void> => {
    const callable = requireCallable(viewer, found, () => modelNotFound(inferenceRequest.model))
    requireModelType(callable[0]!, protocol)
    refuseFields(inferenceRequest, callable)
    const honoring = findHonoring(inferenceRequest, callable)
    const { way, targets } = chooseWay(ways, inferenceRequest, honoring)
    if (way.translate === null) return exchange(way, { request: inferenceRequest, answers: null }, targets)
    const translated = translateRequest(way, inferenceRequest, targets[0]!, deps.inference.slices)
    return translated.then((each) => exchange(way, each, targets))
  }
  const findTargetsAndStart = (inferenceRequest: InferenceRequest): void | Promise<void> => {
    const { model } = inferenceRequest
    const cached = recallTargets(deps.inference.targets, viewer, model)
    if (cached !== undefined) return start(inferenceRequest, cached)
    const startAt = (targets: readonly EngineTarget[]) => start(inferenceRequest, targets)
    return loadTargets(deps, viewer, model).then(startAt, (error: unknown) => {
      if (!(error instanceof AsleepError)) throw error
      requireModelType(error.deployment, protocol)
      if (inferenceRequest.streams) caller = holdForModel(caller, protocol, model)
      const wish = {
        route: protocol.path,
        findTargets: () =>
          recallTargets(deps.inference.targets, viewer, model) ?? loadTargets(deps, viewer, model),
        start: startAt,
        fail: (reason: unknown) => void caller.reply.send(reason),
      }
      new HeldCall(deps, caller, wish).waitFor(error.deployment)
    })
  }

  const result = ways[0].read(body, deps.inference.slices)
  const started = result instanceof Promise ? result.then(findTargetsAndStart) : findTargetsAndStart(result)
  if (started instanceof Promise) started.catch((error: unknown) => caller.reply.send(error))
}

/** Keeps the connection of a stream open that waits for this model. */
function holdForModel(caller: Caller, protocol: Protocol, model: string): Caller {
  const { request } = caller
  const toErrorBody = (error: unknown) => protocol.errors.compose(toPublicError(error), request.id).body
  return holdStream(caller, { toProgress: chooseProgress(request, protocol, model), toErrorBody })
}

/**
 * How a stream tells of its wait, if its caller asks for thoughts, which chat windows show; null for
 * comments.
 */
function chooseProgress(
  { headers, id }: Caller['request'],
  { composeThought }: Protocol,
  model: string,
): ((seconds: number) => unknown) | null {
  if (headers['x-berth-progress'] !== 'reasoning' || composeThought === undefined) return null
  return (seconds) => composeThought(`${model} is waking up: ${seconds} seconds so far.\n`, { id, model })
}

/**
 * Outside `infer`, because a function inside keeps the variables of all others in memory, and a stream may be
 * open for long.
 */
function closeWithResponse(exchange: Exchange, response: ServerResponse): void {
  response.on('close', () => exchange.close())
}

/**
 * Throws a 400 if the request has a member that no caller of a shared engine, or of one with LoRAs, may
 * set.
 */
function refuseFields({ refusedFields: [field] }: InferenceRequest, targets: readonly EngineTarget[]): void {
  if (field === undefined) return
  if (targets.some(({ lora }) => lora !== null)) {
    throw new ApplicationError(
      'invalid_request_error',
      `\`${field}\` is not available. Name a LoRA of the deployment in \`model\` instead.`,
    )
  }
  if (targets.every(({ sharedWith }) => sharedWith === null)) return
  throw new ApplicationError(
    'invalid_request_error',
    `\`${field}\` is not available: the deployment is shared with the organization, and the field would affect the requests of others.`,
  )
}

/** Throws a 400 for chat with an embedding model, and for embeddings of a chat model. */
function requireModelType(
  { modelName, modelType }: Pick<EngineTarget, 'modelName' | 'modelType'>,
  { modelTypes }: Protocol,
): void {
  if (modelTypes.includes(modelType)) return
  const { modelKind, path } = mainProtocols[modelType]
  throw new ApplicationError(
    'invalid_request_error',
    `${modelName} is ${modelKind}. Send its requests to ${path}.`,
  )
}
