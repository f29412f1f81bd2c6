import Fastify from 'fastify'
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify'
import qs from 'qs'
import { Stripe } from 'stripe'
import type { Answer, Engine } from './engine.ts'
import { SandboxError, invalid } from './errors.ts'
import { parseParameters } from './parameters.ts'
import { readRoutes } from './read-routes.ts'
import { Refused } from './route.ts'
import { present } from './secrets.ts'
import type { Addresses, PageSecrets } from './secrets.ts'
import { writeRoutes } from './write-routes.ts'

export interface ApiOptions {
  engine: Engine
  secretKey: string
  secrets: PageSecrets
  addresses: Addresses
  onError(error: unknown): void
}

/** The part of Stripe's REST API that Berth uses: form-encoded requests, JSON answers. */
export function buildSandboxApi(options: ApiOptions): FastifyInstance {
  const { engine, secretKey, secrets, addresses } = options
  const app = Fastify({
    bodyLimit: 1024 * 1024,
    routerOptions: { maxParamLength: 5000, querystringParser: (text) => parseForm(text) },
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => {
      if (hasNul(body as string)) done(invalid('A parameter contains a NUL character.'))
      else done(null, parseForm(body as string))
    },
  )
  app.addHook('onRequest', async (request, reply) => {
    reply.header('request-id', `req_${request.id}`).header('stripe-version', Stripe.API_VERSION)
    if (request.headers.authorization !== `Bearer ${secretKey}`) {
      throw new SandboxError(401, 'Invalid API Key provided.')
    }
    if (hasNul(request.url)) throw invalid('A parameter contains a NUL character.')
  })
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    const told = toSandboxError(error)
    if (told.status >= 500) options.onError(error)
    return reply.code(told.status).send(told.body)
  })
  app.setNotFoundHandler((request) => {
    throw new SandboxError(404, `Unrecognized request URL (${request.method}: ${request.url}).`)
  })
  const show = (body: object) => present(body, secrets, addresses)
  for (const route of writeRoutes) {
    app.route({
      method: route.method,
      url: route.path,
      handler: async (request, reply) => {
        const { id = '' } = request.params as { id?: string }
        const input = parseParameters(route.parameters, request.body ?? {})
        const answer = await engine.runOnce(
          keyOf(request),
          [request.method, request.url, JSON.stringify(request.body ?? {})],
          async (step): Promise<Answer> => {
            const result = await route.run(step, input, id)
            if (result instanceof Refused) return { status: 402, body: result.error.body }
            return { status: 200, body: result }
          },
        )
        return reply.code(answer.status).send(show(answer.body as object))
      },
    })
  }
  for (const route of readRoutes) {
    app.get(route.path, async (request) => {
      const { id = '', child = '' } = request.params as { id?: string; child?: string }
      const found = await route.run(engine, parseParameters(route.parameters, request.query), { id, child })
      const { data } = found as { data?: object[] }
      return Array.isArray(data) ? { ...found, data: data.map(show) } : show(found)
    })
  }
  return app
}

function parseForm(text: string): Record<string, unknown> {
  return qs.parse(text, { depth: 5, arrayLimit: 100, parameterLimit: 1000 })
}

/** True for text that PostgreSQL can't hold. */
function hasNul(text: string): boolean {
  return text.includes('\0') || text.includes('%00')
}

function keyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key']
  return typeof key === 'string' ? key : undefined
}

function toSandboxError(error: FastifyError | SandboxError): SandboxError {
  if (error instanceof SandboxError) return error
  const { statusCode = 500, message } = error
  if (statusCode < 500) return new SandboxError(statusCode, message)
  return new SandboxError(500, 'The payment sandbox failed.', { type: 'api_error' })
}
