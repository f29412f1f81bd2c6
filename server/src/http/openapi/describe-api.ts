import fastifySwagger from '@fastify/swagger'
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { errorCodes } from '../../base/error-codes.ts'
import { permissions, roleIds } from '../../base/roles.ts'
import type { RoleName } from '../../base/roles.ts'
import { version } from '../../base/version.ts'
import { statusOf } from '../errors.ts'
import { codesOfAnyRoute, describeErrors, shareErrorResponses } from './error-responses.ts'
import { isBodyOptional } from '../json-body.ts'
import { cleanSchema } from './clean-schema.ts'

declare module 'fastify' {
  interface FastifySchema {
    /** Headers of the successful response and what they are, for OpenAPI */
    responseHeaders?: Readonly<Record<string, string>>
  }
}

const description = `Berth deploys models from a catalog on your own compute and serves them to any OpenAI client.

Sign up or sign in to get the session cookie and send it with every other request. Deploy a model, wait until its status is
\`running\`, then send OpenAI-style requests to \`/v1\`. Set \`model\` to the deployment's id or the model's name.

Programs that only know a key use \`berth connect\`, which adds the session.
\`npm install --global URL/downloads/berth-cli.tgz\` installs the command line from the server at URL.

In a body that creates something, null counts as not given, and a body whose fields are all optional may be missing.

To poll a GET route cheaply, send the last \`ETag\` as \`If-None-Match\`: the response is a 304 until something changes.

Send a POST that creates something with an \`Idempotency-Key\` of your choice. If its response is lost, send it again with the same key
within 24 hours: the server does what is left to do, and you get the response of the first time.

Every response has an \`x-request-id\`, which is also in the server's log. An error has a stable \`code\` for programs. Each route lists its
codes, and any route may also answer these:

${codesOfAnyRoute.map((code) => `- ${statusOf(code)} \`${code}\`: ${errorCodes[code].meaning}`).join('\n')}`

const tags = [
  { name: 'Accounts', description: 'Sign-up, sign-in and the session' },
  { name: 'Catalog', description: 'Deployable models' },
  { name: 'Endpoints', description: 'Servers with OpenAI’s protocol that already run' },
  { name: 'Deployments', description: 'Running models' },
  { name: 'Organization', description: 'The current organization and its members' },
  { name: 'Invitations', description: 'Invitations to an organization' },
  { name: 'Inference', description: 'OpenAI-style requests to running deployments' },
  { name: 'Billing', description: 'Usage, subscription, cards and invoices' },
  { name: 'Operators', description: 'The whole installation, for its operators' },
  { name: 'Service', description: 'Health and metrics' },
]

const conversion = { zodToJsonConfig: { override: cleanSchema } }
const toJsonSchemas = createJsonSchemaTransform(conversion)
const addSchemas = createJsonSchemaTransformObject(conversion)

/** Adds every route registered after this call to the OpenAPI 3.1 description. */
export async function describeApi(app: FastifyInstance, settings: { cookieName: string }): Promise<void> {
  const optionalBodies = new Set<string>()
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Berth',
        version,
        description,
        contact: { name: 'The operator of this server' },
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
          engine: {
            type: 'http',
            scheme: 'basic',
            description: 'The id of a deployment, and a key that its engines get',
          },
        },
      },
    },
    transform: (input) => {
      const {
        errors: _errors,
        errorBody: _errorBody,
        responseHeaders: _headers,
        ...schema
      } = input.schema ?? {}
      const { schema: transformed, url } = toJsonSchemas({ ...input, schema })
      if (transformed.hide === true) return { schema: transformed, url }
      if (isBodyOptional(input.route)) optionalBodies.add(schema.operationId!)
      const response = { ...describeSuccess(input.route, transformed), ...describeErrors(input.route) }
      const description = [transformed.description, describeCallers(input.route)].filter(Boolean).join('\n\n')
      const headers = input.route.config?.creates === undefined ? {} : { headers: repeatHeaders }
      return { schema: { ...transformed, ...headers, description, response }, url }
    },
    transformObject: (document) =>
      withUsedSchemas(shareErrorResponses(withOptionalBodies(addSchemas(document), optionalBodies))),
  })
}

function describeCallers({ config = {} }: RouteOptions): string {
  const { permission, admitsServices } = config
  if (permission === undefined) return 'Needs no session.'
  if (permission === null) {
    return admitsServices === false ? 'For every person who is signed in.' : 'For everybody who is signed in.'
  }
  const roles: readonly RoleName[] = permissions[permission]
  if (roles.length === Object.keys(roleIds).length) return 'For every role.'
  return `For the ${roles.length === 1 ? 'role' : 'roles'} ${new Intl.ListFormat('en').format(roles)}.`
}

/** The successful responses of a route, with the descriptions of their bodies and with their headers. */
function describeSuccess({ method, config, schema = {} }: RouteOptions, { response }: FastifySchema) {
  const descriptions = schema.response as Record<string, { description?: string }>
  const headers: Record<string, object> = {}
  for (const [name, text] of Object.entries(schema.responseHeaders ?? {})) {
    headers[name] = { type: 'string', description: text }
  }
  if (method === 'GET' && config?.permission !== undefined) headers.ETag = entityTag
  if (config?.creates !== undefined) headers['Idempotency-Replayed'] = replayed
  return Object.fromEntries(
    Object.entries(response as Record<string, { content?: object; type?: string }>).map(([status, body]) => [
      status,
      {
        ...(body.content === undefined && body.type !== 'null'
          ? { content: { 'application/json': { schema: body } } }
          : body),
        description: descriptions[status]?.description,
        ...(Object.keys(headers).length > 0 && { headers }),
      },
    ]),
  )
}

/** The request headers of a route that creates something */
const repeatHeaders = {
  type: 'object',
  properties: {
    'Idempotency-Key': {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      description: 'The same for each repetition of this request within 24 hours',
    },
  },
}

const replayed = { type: 'string', description: '`true` if this is the response to an earlier request' }

const entityTag = { type: 'string', description: 'The version of the response, for `If-None-Match`' }

type Document = ReturnType<typeof addSchemas>

/** Marks the bodies of these operations as optional, which the plugin describes as required. */
function withOptionalBodies(document: Document, operationIds: ReadonlySet<string>): Document {
  for (const path of Object.values((document as { paths: Paths }).paths)) {
    for (const { operationId, requestBody } of Object.values(path)) {
      if (requestBody !== undefined && operationIds.has(operationId)) delete requestBody.required
    }
  }
  return document
}

type Paths = Record<string, Record<string, { operationId: string; requestBody?: { required?: true } }>>

/** Sorts the schemas by name, and removes unused ones: each id exists for requests and for responses. */
function withUsedSchemas(document: Document): Document {
  const { components } = document as { components: { schemas: Record<string, unknown> } }
  const text = JSON.stringify(document)
  const schemas = Object.entries(components.schemas)
  const used = schemas.filter(([name]) => text.includes(`"#/components/schemas/${name}"`))
  const sorted = used.toSorted(([one], [other]) => (one < other ? -1 : 1))
  const result = {
    ...document,
    components: { ...components, schemas: Object.fromEntries(sorted) },
  } as Document
  // Schemas that only the removed ones referenced are unused now.
  return used.length === schemas.length ? result : withUsedSchemas(result)
}
