import type { FastifyReply, FastifyRequest } from 'fastify'
import { serverStopping } from '../../base/errors.ts'
import type { App } from '../../http/app.ts'
import { createBodyBudget } from '../../http/body-budget.ts'
import { errorHeaders, logServerError, toPublicError } from '../../http/errors.ts'
import { jsonOrEvents } from '../../http/openapi/responses.ts'
import type { ErrorResponse } from '../../http/fast-path.ts'
import { parseRawBodies } from '../../http/raw-body.ts'
import type { BodyJudge, RawBodyParser } from '../../http/raw-body.ts'
import type { Services } from '../../services.ts'
import { recordStatistics, toLogMembers } from './counting/finished-exchange.ts'
import type { FinishedExchange } from './counting/finished-exchange.ts'
import { measureExchanges } from './metrics.ts'
import { anthropicErrors } from './protocols/messages/anthropic.ts'
import { openAiErrors } from './protocols/openai.ts'
import type { ErrorFormat, Protocol } from './protocols/protocol.ts'
import { protocols } from './protocols/protocols.ts'
import { serveRoute } from './arrival/choose-way.ts'
import { judgeStart } from './sending/judge-start.ts'
import { startCall } from './sending/call.ts'
import type { CallDeps } from './sending/call.ts'
import { modelRoutes, speaksAnthropic } from './model-routes.ts'
import { sendAgain } from './sending/send-again.ts'

const inferenceErrors = [
  'invalid_request_error',
  'model_not_found',
  'external_not_allowed',
  'route_not_supported',
  'deployment_failed',
  'deployment_not_ready',
  'deployment_waking',
  'no_capacity',
  'insufficient_quota',
  'rate_limited',
  'upstream_unavailable',
  'endpoint_refused',
  'engine_response_invalid',
  'upstream_timeout',
] as const

type Deps = Omit<CallDeps, 'logsRequests' | 'onFinished' | 'sendAgain' | 'toPublicError'> &
  Pick<Services, 'config' | 'log'>

/** The routes of the inference protocols, in a separate scope: bodies stay raw and errors differ. */
export function inferenceRoutes(app: App, deps: Deps): void {
  const { bodies } = deps.config.inference
  app.setErrorHandler((error, request, reply) => {
    sendErrorsAs(speaksAnthropic(request) ? anthropicErrors : openAiErrors)(error, request, reply)
  })
  app.removeContentTypeParser('application/json')
  // People who have reached a model are trusted, so that their bodies are not looked at twice.
  const judge: BodyJudge = ({ viewer, headers, bodyHold }, start) =>
    bodyHold?.isKnown !== false || headers['content-encoding'] !== undefined
      ? null
      : judgeStart(deps, viewer, start)
  const parse = parseRawBodies(deps.config.inferenceBodyLimit, createBodyBudget(bodies), judge)
  app.addContentTypeParser('application/json', parse)
  // The body schemas are documentation: the engine validates the bodies.
  app.setValidatorCompiler(() => (value) => ({ value }))

  const measure = measureExchanges(app.metrics, deps.inference)
  const onFinished = (exchange: FinishedExchange) => {
    measure(exchange)
    recordStatistics(deps.inference.statistics, exchange)
    deps.log.infoMembers(toLogMembers(exchange), 'request')
  }
  const callDeps: CallDeps = {
    ...deps,
    logsRequests: deps.config.requestLogMilliseconds !== null,
    onFinished,
    toPublicError,
    sendAgain: (request, error) => sendAgain(callDeps, request, error),
  }
  app.draining.addEventListener('abort', () => deps.inference.waking.stop())
  app.ending.signal.addEventListener('abort', () => deps.inference.openRequests.stopAll(serverStopping()))
  for (const protocol of protocols) addProtocol(app, callDeps, protocol, parse)
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
  const { requestIdHeader } = format
  return {
    status,
    headers: {
      ...errorHeaders(publicError),
      ...(requestIdHeader === undefined ? {} : { [requestIdHeader]: id }),
    },
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
function addProtocol(app: App, deps: CallDeps, protocol: Protocol, parse: RawBodyParser): void {
  const { path, description, errors } = protocol
  const { operationId, summary, request: body, response, events } = description
  const route = serveRoute(protocol, deps.config.mediaDomains)
  const addRequestId = (reply: { header(name: string, value: string): unknown }, id: string) => {
    if (errors.requestIdHeader !== undefined) reply.header(errors.requestIdHeader, id)
  }
  const config = {
    permission: 'useOwnDeployments',
    anyOrganization: true,
    cachesViewer: true,
    readsRawBody: true,
  } as const
  app.post(
    path,
    {
      bodyLimit: deps.config.inferenceBodyLimit,
      config,
      errorHandler: sendErrorsAs(errors),
      schema: {
        operationId,
        summary,
        description:
          'An error of the engine keeps its own status and body. Requests by an alias whose deployments have an `alias_order` fall back ' +
          'to the next order, unless the header `X-Berth-Fallback` is `no`, and `X-Berth-Deployment` of the response names the deployment.',
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
      addRequestId(reply, request.id)
      startCall(deps, route, { request, reply, arrivedAt }, bytes)
    },
  )
  app.fastPath.add({
    path,
    config,
    parse,
    composeError: (error, { id, log }) => composeError(errors, error, { id, log, storage: app.storage }),
    handle(call, bytes) {
      addRequestId(call, call.id)
      startCall(deps, route, { request: call, reply: call, arrivedAt: call.startedAt }, bytes)
    },
  })
}
