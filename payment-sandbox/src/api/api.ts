import Fastify from 'fastify'
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify'
import qs from 'qs'
import { Stripe } from 'stripe'
import { SandboxError, invalid } from '../errors.ts'
import type { PageLinks } from '../page-links.ts'
import { present } from '../present.ts'
import type { Store } from '../store.ts'
import { parseParameters } from './parameters.ts'
import { readRoutes } from './read-routes.ts'
import { writeRoutes } from './write-routes.ts'

export interface ApiOptions {
  store: Store
  links: PageLinks
  apiKey: string
  onError: (error: unknown) => void
}

/** The part of Stripe's REST API that Berth uses: form-encoded requests, JSON responses. */
export function buildApi({ store, links, apiKey, onError }: ApiOptions): FastifyInstance {
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
    if (request.headers.authorization !== `Bearer ${apiKey}`) {
      throw new SandboxError(401, 'Invalid API Key provided.')
    }
    if (hasNul(request.url)) throw invalid('A parameter contains a NUL character.')
  })
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    const { status, body } = toSandboxError(error)
    if (status >= 500) onError(error)
    return reply.code(status).send(body)
  })
  app.setNotFoundHandler((request) => {
    throw new SandboxError(404, `Unrecognized request URL (${request.method}: ${request.url}).`)
  })
  addRoutes(app, store, links)
  return app
}

function addRoutes(app: FastifyInstance, store: Store, links: PageLinks): void {
  for (const route of writeRoutes) {
    app.route({
      method: route.method,
      url: route.path,
      handler: async (request, reply) => {
        const { id = '' } = request.params as { id?: string }
        // Stripe's clients send the parameters of a DELETE in the query.
        const given = request.method === 'DELETE' ? request.query : (request.body ?? {})
        const input = parseParameters(route.parameters, given)
        const { status, body } = await store.changeOnce(
          idempotencyKeyOf(request),
          [request.method, request.url, JSON.stringify(request.body ?? {})],
          async (change) => ({ status: 200, body: await route.run(change, input, id) }),
        )
        return reply.code(status).send(present(body, links))
      },
    })
  }
  for (const route of readRoutes) {
    app.get(route.path, async (request) => {
      const { id = '', child = '' } = request.params as { id?: string; child?: string }
      const input = parseParameters(route.parameters, request.query)
      return route.run({ db: store.db, links }, input, { id, child })
    })
  }
}

function parseForm(text: string): Record<string, unknown> {
  return qs.parse(text, { depth: 5, arrayLimit: 100, parameterLimit: 1000 })
}

/** True for text that PostgreSQL can't store. */
function hasNul(text: string): boolean {
  return text.includes('\0') || text.includes('%00')
}

function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key']
  return typeof key === 'string' ? key : undefined
}

function toSandboxError(error: FastifyError | SandboxError): SandboxError {
  if (error instanceof SandboxError) return error
  const { statusCode = 500, message } = error
  if (statusCode < 500) return new SandboxError(statusCode, message)
  return new SandboxError(500, 'The payment sandbox failed.', { type: 'api_error' })
}
