import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Application } from '../../application.ts'
import type { App } from '../../http/app.ts'
import { logServerError, toPublicError } from '../../http/errors.ts'
import { listServing } from '../deployments/serving.ts'
import { recordTokens } from '../metering/record-tokens.ts'
import type { TokenUsage } from '../metering/record-tokens.ts'
import { encodeEmbeddings } from './base64-embeddings.ts'
import { forwardToEngine, toUpstreamError } from './forward.ts'
import type { EngineAnswer, InferencePath } from './forward.ts'
import { readInferenceRequest } from './request-body.ts'
import type { InferenceRequest } from './request-body.ts'
import {
  chatBody,
  embeddingsBody,
  engineAnswer,
  modelsBody,
  openAiErrorBody,
  toOpenAiError,
} from './schemas.ts'
import { meterStream } from './stream-meter.ts'
import { readUsage } from './usage.ts'

const tags = ['Inference']
const errorStatuses = [400, 401, 403, 404, 413, 415, 429, 500, 502, 503, 504] as const
const errors = Object.fromEntries(errorStatuses.map((status) => [status, openAiErrorBody]))

/** The routes that speak OpenAI's protocol: in a scope of their own, because bodies stay raw and errors have another shape. */
export function inferenceRoutes(app: App, application: Application): void {
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
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer', bodyLimit: application.config.inferenceBodyLimit },
    (_request, body, done) => done(null, body.length === 0 ? undefined : body),
  )
  // The schemas of the bodies describe them in OpenAPI; what they hold is the engine's to judge.
  app.setValidatorCompiler(() => (value) => ({ value }))

  for (const [path, operationId, summary, body] of [
    ['/v1/chat/completions', 'createChatCompletion', 'Chat with a deployed model', chatBody],
    ['/v1/embeddings', 'createEmbeddings', 'Embed texts with a deployed model', embeddingsBody],
  ] as const) {
    app.post(
      path,
      {
        bodyLimit: application.config.inferenceBodyLimit,
        config: { permission: 'useOwnDeployments' },
        schema: { operationId, summary, tags, body, response: { 200: engineAnswer, ...errors } },
      },
      async (request, reply) => {
        await infer(application, path, request, reply)
        return reply
      },
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
      const serving = await listServing(application, viewer)
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

async function infer(
  application: Application,
  path: InferencePath,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const asked = readInferenceRequest(request.body as Buffer)
  const left = new AbortController()
  reply.raw.once('close', () => left.abort())
  const answer = await forwardToEngine(application, request.viewer, path, asked, request.id, left.signal)
  reply.raw.once('close', () => answer.done())
  reply.code(answer.status).headers(answer.headers)
  if (answer.headers['content-type']?.startsWith('text/event-stream')) {
    return sendStream(application, request, reply, asked, answer)
  }
  return sendWhole(application, request, reply, asked, answer)
}

function sendStream(
  application: Application,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: InferenceRequest,
  answer: EngineAnswer,
): FastifyReply {
  const meter = meterStream(!asked.includesUsage)
  reply.raw.once('close', () => record(application, request, answer, meter.usage()))
  answer.body.once('error', (error) => meter.destroy(error))
  meter.once('close', () => answer.body.destroy())
  return reply.header('x-accel-buffering', 'no').send(answer.body.pipe(meter))
}

async function sendWhole(
  application: Application,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: InferenceRequest,
  answer: EngineAnswer,
): Promise<FastifyReply> {
  const bytes = await readWhole(answer)
  if (answer.status !== 200) return reply.send(bytes)
  const parsed = parse(bytes)
  record(application, request, answer, readUsage(parsed))
  const encoded = asked.wantsBase64 ? encodeEmbeddings(parsed) : null
  return encoded === null ? reply.send(bytes) : reply.serializer(JSON.stringify).send(encoded)
}

async function readWhole({ body }: EngineAnswer): Promise<Buffer> {
  try {
    return Buffer.concat(await body.toArray())
  } catch (error) {
    throw toUpstreamError(error)
  }
}

/** Usage is written beside the answer, not before it: who asked does not wait for our books. */
function record(
  application: Application,
  request: FastifyRequest,
  answer: EngineAnswer,
  usage: TokenUsage | null,
): void {
  const { target } = answer
  if (usage === null) {
    request.log.warn({ deployment: target.deploymentId }, 'the engine reported no usage')
    return
  }
  recordTokens(application, target, usage).catch((error: unknown) =>
    request.log.error({ err: error, deployment: target.deploymentId, usage }, 'usage could not be recorded'),
  )
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return null
  }
}
