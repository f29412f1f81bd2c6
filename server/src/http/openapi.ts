import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import fastifyStatic from '@fastify/static'
import fastifySwagger from '@fastify/swagger'
import fastifySwaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { createJsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { problemSchema } from './errors.ts'

const description = `Berth deploys models from a catalog on your own compute and serves them to any OpenAI client.

Sign up or sign in to get the session cookie and send it with every other request. Deploy a model, wait until its status is
\`running\`, then send OpenAI-style requests to \`/v1\`. Set \`model\` to the deployment's id or the model's name.

To poll a GET route cheaply, send the last \`ETag\` as \`If-None-Match\`: the response is a 304 until something changes.`

const tags = [
  { name: 'Accounts', description: 'Sign-up, sign-in and the session' },
  { name: 'Catalog', description: 'Deployable models' },
  { name: 'Deployments', description: 'Running models' },
  { name: 'Organization', description: 'The current organization and its members' },
  { name: 'Invitations', description: 'Invitations to an organization' },
  { name: 'Inference', description: 'OpenAI-style requests to running deployments' },
  { name: 'Billing', description: 'Usage, subscription, cards and invoices' },
  { name: 'Service', description: 'Health and metrics' },
]

/** Adds every route registered after this call to the OpenAPI 3.1 description. */
export async function describeApi(app: FastifyInstance, settings: { cookieName: string }): Promise<void> {
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Berth',
        version: '0.1.0',
        description,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'This server' }],
      tags,
      security: [{ session: [] }],
      components: {
        securitySchemes: {
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: settings.cookieName,
            description: 'Set by registration and sign-in',
          },
        },
      },
    },
    transform: createJsonSchemaTransform({
      zodToJsonConfig: {
        override({ zodSchema: { _zod }, jsonSchema }) {
          // Zod omits the default of a transformed query value.
          if (_zod.def.type === 'default') jsonSchema.default ??= _zod.def.defaultValue
        },
      },
    }),
    transformObject: (document) => withoutUnusedSchemas(jsonSchemaTransformObject(document)),
  })
}

type Document = ReturnType<typeof jsonSchemaTransformObject>

/** Removes unreferenced schemas: each schema with an id exists for requests and for responses, and usually only one is used. */
function withoutUnusedSchemas(document: Document): Document {
  const { components } = document as { components?: { schemas?: Record<string, unknown> } }
  const schemas = components?.schemas ?? {}
  const text = JSON.stringify(document)
  const unused = Object.keys(schemas).filter((name) => !text.includes(`"#/components/schemas/${name}"`))
  for (const name of unused) delete schemas[name]
  // Schemas that only these referenced are unused now.
  return unused.length === 0 ? document : withoutUnusedSchemas(document)
}

/** Serves the description at `/openapi.json`, Swagger UI at `/docs` and ReDoc at `/redoc`, all from this server. */
export async function serveApiDocs(app: FastifyInstance): Promise<void> {
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger())
  await app.register(fastifySwaggerUi, {
    routePrefix: '/docs',
    staticCSP: swaggerUiPolicy,
    theme: { title: 'Berth API' },
    // Without the top bar, which only opens other API descriptions.
    uiConfig: { url: '/openapi.json', layout: 'BaseLayout', deepLinking: true },
  })
  const bundle = createRequire(import.meta.url).resolve('redoc/bundles/redoc.standalone.js')
  await app.register(fastifyStatic, {
    root: dirname(bundle),
    prefix: '/redoc/',
    decorateReply: false,
    allowedPath: (path) => path === '/redoc.standalone.js',
    schemaHide: true,
  })
  app.get('/redoc', { schema: { hide: true } }, (_request, reply) =>
    reply.header('content-security-policy', redocPolicy).type('text/html; charset=utf-8').send(redocPage),
  )
}

const swaggerUiPolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"

const redocPolicy =
  "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; worker-src blob:; frame-ancestors 'none'"

const redocPage = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Berth API</title>
    <style>body { margin: 0 }</style>
  </head>
  <body>
    <redoc spec-url="/openapi.json" disable-google-font="true" hide-hostname="true"></redoc>
    <script src="/redoc/redoc.standalone.js"></script>
  </body>
</html>
`

const problemDescriptions: Record<number, string> = {
  400: 'The request body can’t be parsed',
  401: 'The session is missing or invalid',
  403: 'Not allowed: the role, a suspended organization, a disabled account, or a request from another site; `code` gives the reason',
  404: 'Does not exist or belongs to another user',
  408: 'The request body arrived too slowly',
  409: 'Not possible in the current state; `code` gives the reason',
  410: 'Expired',
  413: 'The request body is too large',
  415: 'The request body is not JSON',
  422: 'Some fields are invalid; `errors` lists them',
  429: 'Too many requests; retry after `Retry-After` seconds',
  503: 'Temporarily unavailable; retry after `Retry-After` seconds. `database_unavailable`: the database is unreachable. `storage_full`: a disk is full',
}

/** Response schemas of a route's errors, for OpenAPI. A 503 is among them, because every route needs the database. */
export function problems<const Status extends number>(...statuses: Status[]) {
  return Object.fromEntries(
    [...new Set<number>([...statuses, 503])].map((status) => [
      status,
      {
        description: problemDescriptions[status] ?? 'Error',
        content: { 'application/problem+json': { schema: problemSchema } },
      },
    ]),
  ) as unknown as Record<Status, typeof problemSchema>
}

/** Response schema of a route that answers with JSON or with server-sent events, for OpenAPI. */
export function jsonOrEvents<Body extends z.ZodType>(body: Body): Body {
  return jsonOr(
    body,
    'text/event-stream',
    'server-sent events',
    'Server-sent events, each with JSON as `data`',
  )
}

/** Response schema of a route that answers with JSON or with a CSV file, for OpenAPI. */
export function jsonOrCsv<Body extends z.ZodType>(body: Body): Body {
  return jsonOr(body, 'text/csv', 'CSV', 'A header line and one line for each item')
}

function jsonOr<Body extends z.ZodType>(body: Body, mediaType: string, name: string, content: string): Body {
  return {
    description: body.description ?? `JSON, or ${name}`,
    content: {
      'application/json': { schema: body },
      [mediaType]: { schema: z.string().describe(content) },
    },
  } as unknown as Body
}

/** Errors that every protected route may return. */
export const protectedProblems = problems(401, 403)

/** Errors that every route with a body may return. */
export const bodyProblems = problems(400, 408, 413, 415, 422)
