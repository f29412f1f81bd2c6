import type { FastifyInstance, FastifyRequest } from 'fastify'
import { overloaded } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { parseBody } from '../base/parse-body.ts'
import type { UsedTokens } from '../chat/answer.ts'
import { chatRequestBody, refuseUnsupported } from '../chat/chat-request.ts'
import { toToolRequest } from '../chat/legacy-functions.ts'
import { prepareChat } from '../chat/prepare-chat.ts'
import type { LoadedModel } from '../model/load-model.ts'
import { toUsage } from '../chat/completion.ts'
import { completionRequestBody } from '../completions/completion-request.ts'
import { prepareCompletion } from '../completions/prepare-completion.ts'
import { answerChat } from './chat-completions.ts'
import { answerCompletion } from './completions.ts'
import { tokenize } from './tokenize.ts'
import { RequestCounts } from './request-counts.ts'
import { computeEmbeddings, embeddingsRequestBody, toEmbeddingList } from './embeddings.ts'
import { computeScores, rerankRequestBody, toRanking } from './rerank.ts'
import { unsupportedFields } from './truncation.ts'

/** Registers OpenAI's routes. `findModel` throws a RequestError for another model than the loaded one. */
export function registerRoutes(
  fastify: FastifyInstance,
  { findModel, log }: { findModel: (name?: string) => LoadedModel; log: Log },
): void {
  fastify.get('/v1/models', async () => toModelList(findModel()))

  const counts = new RequestCounts()
  registerReadingRoutes(fastify, findModel, counts)

  fastify.post('/v1/chat/completions', async (request, reply) => {
    const body = toToolRequest(parseBody(chatRequestBody, request.body))
    refuseUnsupported(request.body)
    const model = findModel(body.model)
    return counts.follow(request, async (used) => {
      await answerChat(model, await prepareChat(model, body, { bodyText: request.bodyText, log }), {
        used,
        request,
        reply,
        log,
      })
      return reply
    })
  })

  fastify.post('/v1/completions', async (request, reply) => {
    const body = parseBody(completionRequestBody, request.body)
    refuseUnsupported(request.body)
    const model = findModel(body.model)
    return counts.follow(request, async (used) => {
      await answerCompletion(model, prepareCompletion(model, body), { used, request, reply, log })
      return reply
    })
  })

  fastify.post('/tokenize', async (request) => {
    const { model } = (request.body ?? {}) as { model?: unknown }
    const found = findModel(typeof model === 'string' ? model : undefined)
    return tokenize(found, request.body, { bodyText: request.bodyText, log })
  })

  // Aborted requests included, so that a bill can be checked.
  fastify.get('/metrics', async (_request, reply) => reply.type('text/plain').send(counts.writeMetrics()))

  fastify.get<{ Params: { id: string } }>('/v1/requests/:id/usage', async (request) => ({
    usage: toUsage(await counts.read(request.params.id)),
  }))
}

/** Registers the routes of models that read texts and generate none. */
function registerReadingRoutes(
  fastify: FastifyInstance,
  findModel: (name?: string) => LoadedModel,
  counts: RequestCounts,
): void {
  let reading = 0
  const read = async <Value>(
    request: FastifyRequest,
    { maxEmbeddings }: LoadedModel,
    compute: (used: UsedTokens) => Promise<{ body: Value; inputs: number }>,
  ): Promise<Value> => {
    if (reading >= maxEmbeddings) throw overloaded(reading)
    return counts.follow(request, async (used) => {
      reading++
      const { body, inputs } = await compute(used).finally(() => reading--)
      request.used = `prompt=${used.promptTokens} inputs=${inputs}`
      return body
    })
  }
  fastify.post('/v1/embeddings', async (request) => {
    const body = parseBody(embeddingsRequestBody, request.body)
    refuseUnsupported(request.body, unsupportedFields)
    const model = findModel(body.model)
    return read(request, model, async (used) => {
      const vectors = await computeEmbeddings(model, body, { used, signal: request.left })
      return { body: toEmbeddingList(vectors, used, body), inputs: vectors.length }
    })
  })

  fastify.post('/v1/rerank', async (request) => {
    const body = parseBody(rerankRequestBody, request.body)
    refuseUnsupported(request.body, unsupportedFields)
    const model = findModel(body.model)
    return read(request, model, async (used) => {
      const scores = await computeScores(model, body, { used, signal: request.left })
      return { body: toRanking(scores, used, body), inputs: scores.length }
    })
  })
}

function toModelList({ aliases, model, chat }: LoadedModel) {
  const meta = {
    n_ctx: chat?.contextSize ?? model.trainContextSize,
    n_ctx_train: model.trainContextSize,
    n_embd: model.embeddingVectorSize,
    size: model.size,
    description: model.typeDescription,
  }
  return {
    object: 'list',
    data: [{ id: aliases[0], aliases, object: 'model', created: 0, owned_by: 'berth', meta }],
  }
}
