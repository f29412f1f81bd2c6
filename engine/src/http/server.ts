import { createHash, timingSafeEqual } from 'node:crypto'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { RequestError, shuttingDown } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { LoadedModel } from '../model/load-model.ts'
import { sendError, toRequestError } from './errors.ts'
import { followRequests } from './follow-requests.ts'
import { registerRoutes } from './routes.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The unchanged body */
    bodyText: string
  }
}

const bodyLimit = 32 * 1024 * 1024
const hangUpMs = 20

/** The answer of llama.cpp's server while it loads. */
const loading = { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } } as const

/** The HTTP server of an engine process. */
export interface EngineServer {
  fastify: FastifyInstance
  /** Starts answering requests. */
  setModel: (model: LoadedModel) => void
  /** Stops accepting requests, aborts running generations and resolves when all connections are closed. */
  close: () => Promise<void>
}

/** Builds the server, which answers 503 until `setModel`. `key` is the only accepted bearer token. */
export function buildServer({ key, log }: { key: string; log: Log }): EngineServer {
  let loaded: LoadedModel | null = null
  const ending = new AbortController()
  const fastify = Fastify({ bodyLimit, forceCloseConnections: 'idle', keepAliveTimeout: 65_000 })
  fastify.removeContentTypeParser('text/plain')
  followRequests(fastify, ending.signal, log)
  fastify.setErrorHandler((error, request, reply) => {
    if (request.left.aborted && !ending.signal.aborted) return reply.hijack()
    return sendError(reply, toRequestError(error, log, request))
  })
  fastify.setNotFoundHandler(async () => {
    throw new RequestError(404, 'There is no such route.', { code: 'not_found' })
  })
  fastify.get('/health', async (_request, reply) => {
    if (loaded === null) return reply.code(503).send(loading)
    return { status: 'ok' }
  })
  fastify.register(async (guarded) => {
    requireKey(guarded, key)
    guarded.addHook('onRequest', async (_request, reply) => {
      if (loaded === null) return reply.code(503).header('retry-after', '2').send(loading)
    })
    keepBodyTexts(guarded)
    registerRoutes(guarded, { findModel: (name) => checkName(loaded!, name), log })
  })

  return {
    fastify,
    setModel: (model) => (loaded = model),
    close: async () => {
      const closed = fastify.close()
      ending.abort(shuttingDown())
      // A keep-alive connection becomes idle only after its response has ended.
      const hangUp = setInterval(() => fastify.server.closeIdleConnections(), hangUpMs)
      await closed.finally(() => clearInterval(hangUp))
    },
  }
}

function requireKey(fastify: FastifyInstance, key: string): void {
  const expected = digest(`Bearer ${key}`)
  fastify.addHook('onRequest', async (request, reply) => {
    if (timingSafeEqual(digest(request.headers.authorization ?? ''), expected)) return
    reply.header('www-authenticate', 'Bearer')
    throw new RequestError(401, 'The API key is missing or wrong.', { code: 'invalid_api_key' })
  })
}

/** Keeps the text of each body: parsing changes numbers with many digits and the order of some members. */
function keepBodyTexts(fastify: FastifyInstance): void {
  const parse = fastify.getDefaultJsonParser('error', 'error')
  fastify.decorateRequest('bodyText', '')
  fastify.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    request.bodyText = body as string
    void parse(request, body as string, done)
  })
}

/** A fixed-length digest, so that a timing-safe comparison does not reveal the key's length. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function checkName(model: LoadedModel, name: string | undefined): LoadedModel {
  if (name === undefined || model.aliases.includes(name)) return model
  throw new RequestError(404, 'This engine does not serve a model with that name.', {
    code: 'model_not_found',
    param: 'model',
  })
}
