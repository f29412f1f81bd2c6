import { createHash, timingSafeEqual } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { ChatRequestBody, parseBody } from './chat-request.ts'
import { computeEmbeddings, EmbeddingsRequestBody, toBase64 } from './embeddings.ts'
import { overloaded, RequestError, shuttingDown } from './errors.ts'
import type { AnswerEnd, AnswerPiece } from './answer.ts'
import { prefill, prepareChat, writeAnswer, type PreparedChat } from './generate.ts'
import { toFunctionChoice, toFunctionChunk, toToolRequest } from './legacy-functions.ts'
import type { Log } from './log.ts'
import { MAX_WAITING, type LoadedModel } from './model.ts'
import { createCollector, createHead, openEventStream, type Chunk } from './openai.ts'
import { toChunk, toCompletion, toErrorBody, toPieceChunk, toUsageChunk } from './openai.ts'

const BODY_LIMIT = 32 * 1024 * 1024
const HANG_UP_MS = 20

/** The answer of llama.cpp's server while it loads. */
const LOADING = { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } } as const

/** The HTTP server of an engine process. */
export interface EngineServer {
  fastify: FastifyInstance
  /** Starts answering requests. */
  setModel: (model: LoadedModel) => void
  /** Stops accepting requests, aborts running generations and resolves when all connections are closed. */
  close: () => Promise<void>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Aborts when the caller disconnects or the engine shuts down. */
    left: AbortSignal
    /** Token counts for the log line */
    used: string
  }
}

/** Builds the server, which answers 503 until `setModel`. `key` is the only accepted bearer token. */
export function buildServer({ key, log }: { key: string; log: Log }): EngineServer {
  let loaded: LoadedModel | null = null
  const ending = new AbortController()
  const expected = digest(`Bearer ${key}`)
  const fastify = Fastify({ bodyLimit: BODY_LIMIT, forceCloseConnections: 'idle', keepAliveTimeout: 65_000 })

  fastify.removeContentTypeParser('text/plain')
  fastify.decorateRequest('left', null as unknown as AbortSignal)
  fastify.decorateRequest('used', '')
  fastify.addHook('onRequest', async (request, reply) => {
    const caller = new AbortController()
    request.left = AbortSignal.any([caller.signal, ending.signal])
    const started = performance.now()
    reply.raw.on('close', () => {
      const complete = reply.raw.writableFinished
      if (!complete) caller.abort(new CallerLeft())
      if (request.routeOptions.url === '/health') return
      const route = `${request.method} ${request.routeOptions.url ?? 'unknown route'}`
      const status = complete ? reply.raw.statusCode : 'left'
      const took = Math.round(performance.now() - started)
      log(`request ${request.id} ${route} ${status} ${request.used} ${took} ms`.replace(/ {2,}/g, ' '))
    })
  })

  fastify.setErrorHandler((error, request, reply) => {
    if (request.left.aborted && !ending.signal.aborted) return reply.hijack()
    return sendError(reply, toRequestError(error, log, request))
  })
  fastify.setNotFoundHandler(async () => {
    throw new RequestError(404, 'There is no such route.', { code: 'not_found' })
  })

  fastify.get('/health', async (_request, reply) => {
    if (loaded === null) return reply.code(503).send(LOADING)
    return { status: 'ok' }
  })

  fastify.register(async (guarded) => {
    guarded.addHook('onRequest', async (request, reply) => {
      if (!timingSafeEqual(digest(request.headers.authorization ?? ''), expected)) {
        reply.header('www-authenticate', 'Bearer')
        throw new RequestError(401, 'The API key is missing or wrong.', { code: 'invalid_api_key' })
      }
      if (loaded === null) return reply.code(503).header('retry-after', '2').send(LOADING)
    })
    const ready = (model?: string): LoadedModel => {
      if (loaded === null) throw new RequestError(503, 'Loading model')
      if (model !== undefined && model !== loaded.alias) {
        throw new RequestError(404, 'This engine does not serve a model with that name.', {
          code: 'model_not_found',
          param: 'model',
        })
      }
      return loaded
    }

    let embedding = 0
    guarded.get('/v1/models', async () => toModelList(ready()))
    guarded.post('/v1/embeddings', async (request) => {
      const body = parseBody(EmbeddingsRequestBody, request.body)
      const serving = ready(body.model)
      if (embedding >= MAX_WAITING) throw overloaded(embedding)
      embedding++
      const computed = computeEmbeddings(serving, body, request.left)
      const { vectors, promptTokens } = await computed.finally(() => embedding--)
      request.used = `prompt=${promptTokens} inputs=${vectors.length}`
      const form = (vector: number[]) => (body.encoding_format === 'base64' ? toBase64(vector) : vector)
      return {
        object: 'list',
        data: vectors.map((vector, index) => ({ object: 'embedding', index, embedding: form(vector) })),
        model: body.model,
        usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
      }
    })
    guarded.post('/v1/chat/completions', async (request, reply) => {
      const body = toToolRequest(parseBody(ChatRequestBody, request.body))
      const serving = ready(body.model)
      await answerChat(serving, await prepareChat(serving, body), { request, reply, log })
      return reply
    })
  })

  return {
    fastify,
    setModel: (model) => (loaded = model),
    close: async () => {
      const closed = fastify.close()
      ending.abort(shuttingDown())
      // A keep-alive connection becomes idle only after its response has ended.
      const hangUp = setInterval(() => fastify.server.closeIdleConnections(), HANG_UP_MS)
      await closed.finally(() => clearInterval(hangUp))
    },
  }
}

class CallerLeft extends Error {}

async function answerChat(
  loaded: LoadedModel,
  prepared: PreparedChat,
  { request, reply, log }: { request: FastifyRequest; reply: FastifyReply; log: Log },
): Promise<void> {
  const pool = loaded.chat!.pool
  const slot = await pool.acquire(prepared.prompt, request.left)
  const head = createHead(loaded.alias)
  const signal = request.left
  const { stream: isStreamed, stream_options: options, n, usesFunctions } = prepared.request
  const toWire = usesFunctions === true ? toFunctionChunk : (chunk: Chunk) => chunk
  const count = n ?? 1
  const ends: AnswerEnd[] = []
  const write = async (onPiece: (piece: AnswerPiece) => void, cachedTokens: number): Promise<AnswerEnd> => {
    const index = ends.length
    const cached = index === 0 ? cachedTokens : await prefill(slot, prepared, signal)
    const end = await writeAnswer(prepared, slot, { index, cachedTokens: cached, signal, onPiece })
    ends.push(end)
    return end
  }
  const sum = (): AnswerEnd => {
    const completionTokens = ends.reduce((tokens, end) => tokens + end.completionTokens, 0)
    const total = { ...ends[0]!, completionTokens }
    request.used = `prompt=${total.promptTokens} cached=${total.cachedTokens} completion=${completionTokens}`
    return total
  }
  try {
    // The stream starts after the prefill, because callers allow more time for the first byte than between bytes.
    const cachedTokens = await prefill(slot, prepared, signal)
    if (isStreamed !== true) {
      const choices: unknown[] = []
      for (let index = 0; index < count; index++) {
        const collector = createCollector()
        const choice = collector.toChoice(index, await write(collector.add, cachedTokens))
        choices.push(usesFunctions === true ? toFunctionChoice(choice) : choice)
      }
      await reply.send(toCompletion(head, choices, sum()))
      return
    }

    reply.hijack()
    const stream = openEventStream(reply.raw)
    slot.pace = stream.drained
    try {
      for (let index = 0; index < count; index++) {
        stream.send(toChunk(head, index, { role: 'assistant', content: '' }))
        const end = await write(
          (piece) => stream.send(toWire(toPieceChunk(head, index, piece))),
          cachedTokens,
        )
        stream.send(toWire(toChunk(head, index, {}, { finishReason: end.finishReason })))
      }
      const total = sum()
      if (options?.include_usage === true) stream.send(toUsageChunk(head, total))
    } catch (error) {
      stream.send(toErrorBody(toRequestError(error, log, request)).body)
    }
    stream.finish()
  } finally {
    pool.release(slot)
  }
}

function sendError(reply: FastifyReply, error: unknown): FastifyReply {
  const { status, retryAfter, body } = toErrorBody(error)
  if (retryAfter !== null) reply.header('retry-after', String(retryAfter))
  return reply.code(status).send(body)
}

/** Converts Fastify's errors, such as a malformed body, to a RequestError. Logs and returns unexpected errors unchanged. */
function toRequestError(error: unknown, log: Log, request: FastifyRequest): unknown {
  if (error instanceof RequestError || error instanceof CallerLeft) return error
  const { statusCode, code, message } = error as { statusCode?: number; code?: string; message?: string }
  if (statusCode === 413) {
    return new RequestError(413, 'The request body exceeds 32 MiB.', { code: 'body_too_large' })
  }
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY' || error instanceof SyntaxError) {
    return new RequestError(400, 'The request body is not valid JSON.', { code: 'invalid_json' })
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new RequestError(statusCode, message ?? 'The request is not valid.')
  }
  log(`request ${request.id} failed: ${error instanceof Error ? error.stack : String(error)}`)
  return error
}

function toModelList({ alias, model, chat }: LoadedModel) {
  const meta = {
    n_ctx: chat?.contextSize ?? model.trainContextSize,
    n_ctx_train: model.trainContextSize,
    n_embd: model.embeddingVectorSize,
    size: model.size,
    description: model.typeDescription,
  }
  return { object: 'list', data: [{ id: alias, object: 'model', created: 0, owned_by: 'berth', meta }] }
}

/** A fixed-length digest, so that a timing-safe comparison does not reveal the key's length. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
