import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { errorCodes } from '../../src/base/error-codes.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { startHubServer } from '../support/hub/hub-server.ts'
import type { HubServer } from '../support/hub/hub-server.ts'
import { makeRepositories } from '../support/hub/test-repositories.ts'
import { listOperations, resolveReference } from '../support/operations.ts'
import type { Operation } from '../support/operations.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let hub: HubServer
let server: TestServer
let client: Client
let document: any
let operations: Operation[]
beforeAll(async () => {
  // The repository in the examples
  hub = await startHubServer({ 'Qwen/Qwen3-0.6B-GGUF': makeRepositories()['acme/Small-GGUF']! })
  server = await startTestServer({ worker: false, settings: { HF_ENDPOINT: hub.origin } })
  client = createClient(server.url)
  document = (await client.get('/openapi.json')).body
  operations = listOperations(document)
})
afterAll(async () => {
  await server.close()
  await hub.close()
})

const name = ({ method, path }: Operation) => `${method} ${path}`

/** Public operations: section 5.7 of the contract, and additions of the service. */
const publicOperations = new Set([
  'GET /api/v1/model-files/{file_name}',
  'GET /health',
  'GET /healthz',
  'GET /readyz',
  'GET /version',
  'GET /metrics',
  'GET /v1/installation',
  'POST /v1/user/register',
  'POST /v1/user/signin',
  'POST /v1/auth/password-reset/request',
  'POST /v1/auth/password-reset/confirm',
  'GET /v1/sso/providers',
  'GET /v1/sso/login/{sso_provider}',
  'GET /v1/sso/callback/{sso_provider}',
  'POST /v1/sso/backchannel-logout/{sso_provider}',
  'GET /v1/invitations/by-token/{token}',
  'POST /v1/invitations/register',
  'POST /v1/invitations/sso/{sso_provider}/start',
  'POST /v1/billing/webhook',
])

const openAiPaths = new Set([
  '/tokenize',
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/rerank',
  '/v2/rerank',
  '/rerank',
  '/v1/responses',
  '/v1/models',
  '/v1/models/{model}',
])
/** Errors in Anthropic's shape have no codes. */
const anthropicPaths = new Set(['/v1/messages', '/v1/messages/count_tokens'])

test('openapi.json in the repository matches the server; `npm run openapi` updates it', async () => {
  const committed = await readFile(resolve(import.meta.dirname, '../../../openapi.json'), 'utf8')
  expect(committed).toBe(`${JSON.stringify(document, null, 2)}\n`)
})

test('GET /openapi.json: OpenAPI 3.1 with title, version, license and a server', async () => {
  expect(document.openapi).toMatch(/^3\.1\.\d$/)
  expect(document.info).toMatchObject({ title: 'Berth', version: expect.stringMatching(/^\d+\.\d+\.\d+/) })
  expect(document.info.license.identifier).toBe('Apache-2.0')
  expect(document.servers).toHaveLength(1)
})

test('query parameters have their defaults', () => {
  const defaults = operations
    .flatMap(({ description }) => description.parameters ?? [])
    .filter((parameter: any) => parameter.in === 'query' && 'default' in parameter.schema)
    .map(({ name, schema }: any) => [name, schema.default])
  expect(Object.fromEntries(defaults)).toEqual({
    active: false,
    counts: false,
    enabled_only: true,
    group_by: 'day',
    limit: 100,
    model_type: 'LLM',
    now: false,
    offset: 0,
    scope: 'own',
    sort: '-created_at',
    window: '1h',
  })
})

test('every operation has a summary, a known tag, a unique id and a described success', () => {
  const tags = document.tags.map((tag: { name: string }) => tag.name)
  for (const operation of operations) {
    const { summary, tags: own, operationId, responses } = operation.description
    expect(summary, name(operation)).toMatch(/^[A-Z].*[^.]$/)
    expect(operationId, name(operation)).toMatch(/^[a-z][A-Za-z0-9]+$/)
    expect(own, name(operation)).toHaveLength(1)
    expect(tags).toContain(own[0])
    const successes = Object.keys(responses).filter((status) => /^[23]/.test(status))
    expect(successes, name(operation)).toHaveLength(1)
  }
  const ids = operations.map(({ description }) => description.operationId)
  expect(new Set(ids).size).toBe(ids.length)
})

test('every path parameter is described', () => {
  for (const operation of operations) {
    const inPath = [...operation.path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1])
    const described = (operation.description.parameters ?? [])
      .filter((parameter: any) => parameter.in === 'path' && parameter.required)
      .map((parameter: any) => parameter.name)
    expect(described, name(operation)).toEqual(inPath)
  }
})

test('every error is a problem with the codes of its status, or has the shape of another API on its routes', () => {
  for (const operation of operations) {
    const shape = openAiPaths.has(operation.path)
      ? 'OpenAIError'
      : anthropicPaths.has(operation.path)
        ? 'AnthropicError'
        : null
    for (const [status, response] of Object.entries(operation.responses)) {
      if (Number(status) < 400) continue
      const listed = Array.from<string[], string>(
        response.description.matchAll(/`(\w+)`: /g),
        ([, code]) => code!,
      )
      expect(listed.length, `${name(operation)} ${status}`).toBeGreaterThan(0)
      expect(response.content, `${name(operation)} ${status}`).toEqual(
        shape !== null
          ? { 'application/json': { schema: { $ref: `#/components/schemas/${shape}` } } }
          : Object.fromEntries(
              ['application/json', 'application/problem+json'].map((type) => [type, problemOf(listed)]),
            ),
      )
    }
  }
})

const problemOf = (codes: string[]) => ({
  schema: {
    allOf: [{ $ref: '#/components/schemas/Problem' }, { properties: { code: { enum: codes } } }],
  },
})

test('every error code is listed by a route, except those of unknown addresses, of every route and of operators', () => {
  const listed = operations.flatMap(({ responses }) =>
    Object.values(responses).flatMap(({ description }) => [...description.matchAll(/^- `(\w+)`/gm)]),
  )
  const unlisted = Object.keys(errorCodes).filter((code) => !listed.some(([, each]) => each === code))
  expect(unlisted.toSorted()).toEqual([
    'headers_too_large',
    'internal_error',
    'malformed_request',
    'method_not_allowed',
    'organization_status_conflict',
    'overloaded',
    'server_stopping',
    'unknown_host',
    'unknown_url',
  ])
  expect(document.components.schemas.Problem.properties.code.enum).toEqual(Object.keys(errorCodes))
})

test('protected operations describe 401, operations that change something 403, 400, 413 and 415', () => {
  for (const operation of operations) {
    const statuses = Object.keys(operation.responses)
    if (!operation.isPublic) expect(statuses, name(operation)).toContain('401')
    if (operation.method !== 'GET' && operation.path !== '/v1/billing/webhook') {
      expect(statuses, name(operation)).toEqual(expect.arrayContaining(['400', '403', '413', '415']))
    }
  }
})

test('exactly these operations require no session, and the description says so', () => {
  for (const operation of operations) {
    expect(operation.isPublic, name(operation)).toBe(publicOperations.has(name(operation)))
  }
  expect(document.security).toEqual([{ session: [] }])
  expect(document.components.securitySchemes.session).toMatchObject({
    type: 'apiKey',
    in: 'cookie',
    name: 'berth_session',
  })
})

test('every protected operation returns 401 without a session, before it validates the body', async () => {
  const protectedOperations = operations.filter(({ isPublic }) => !isPublic)
  expect(protectedOperations.length).toBeGreaterThan(10)
  for (const operation of protectedOperations) {
    const path = operation.path.replaceAll(/\{[^}]+\}/g, '1')
    const answer = await client.request(
      operation.method,
      path,
      operation.bodyFields === null ? undefined : '{',
    )
    expect(answer.status, name(operation)).toBe(401)
    if (anthropicPaths.has(operation.path)) {
      expect(answer.body).toMatchObject({ type: 'error', error: { type: 'authentication_error' } })
      continue
    }
    const { code } = openAiPaths.has(operation.path) ? answer.body.error : answer.body
    expect(code).toBe('not_authenticated')
  }
})

test('every route is described, except HEAD, OPTIONS, pages of the console, the documentation and the payment sandbox', () => {
  const described = new Set(operations.map(name))
  const routes = listRoutes(server.app.printRoutes({ commonPrefix: false }))
  expect(routes).toContain('DELETE /api/v1/model-deployments/{deployment_id}')
  const undescribed = routes.filter((route) => !/^(HEAD|OPTIONS) /.test(route) && !described.has(route))
  // A model's name with slashes is another spelling of a described path.
  const pages =
    /^(GET \/(docs|redoc|openapi\.json|favicon\.svg|downloads\/berth(-cli\.tgz|\.schema\.json)|v1\/models\/|\*|$)|(GET|POST) \/sandbox\/billing\/)/
  expect(undescribed.filter((route) => !pages.test(route))).toEqual([])
})

/** Parses Fastify's route tree into routes such as `GET /v1/things/{id}`. */
function listRoutes(tree: string): string[] {
  const parents: string[] = []
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', segment, methods] = /^([│ ]*)[├└]── (\S+)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? []
    if (segment === undefined) return []
    const depth = indent.length / 4
    const path = `${parents[depth - 1] ?? ''}${segment.replaceAll(/:(\w+)/g, '{$1}')}`
    parents[depth] = path
    return methods === undefined ? [] : methods.split(', ').map((method) => `${method} ${path}`)
  })
}

test.each([
  ['POST /v1/chat/completions', ['application/json', 'text/event-stream']],
  ['GET /api/v1/model-deployments/{deployment_id}/events', ['application/json', 'text/event-stream']],
  ['GET /api/v1/model-deployments/{deployment_id}/logs', ['application/json', 'text/event-stream']],
  ['POST /v1/completions', ['application/json', 'text/event-stream']],
  ['POST /v1/responses', ['application/json', 'text/event-stream']],
  ['POST /v1/messages', ['application/json', 'text/event-stream']],
  ['POST /v1/messages/count_tokens', ['application/json']],
  ['POST /tokenize', ['application/json']],
  ['POST /v1/embeddings', ['application/json']],
])('%s answers 200 with %j', (wanted, types) => {
  const operation = operations.find((each) => name(each) === wanted)!
  expect(Object.keys(operation.description.responses['200'].content)).toEqual(types)
})

test('every property, parameter and response is described, and no schema has a bound or pattern of Zod’s own', () => {
  const undescribed: string[] = []
  const check = (schema: any, place: string): void => {
    for (const [key, value] of Object.entries<any>(schema?.properties ?? {})) {
      if (value.description === undefined && value.$ref === undefined) undescribed.push(`${place}.${key}`)
      check(value, `${place}.${key}`)
    }
    for (const part of [schema?.items, ...(schema?.anyOf ?? [])]) if (part !== undefined) check(part, place)
  }
  for (const [id, schema] of Object.entries(document.components.schemas)) check(schema, id)
  for (const operation of operations) {
    for (const parameter of operation.description.parameters ?? []) {
      if (parameter.description === undefined) undescribed.push(`${name(operation)}?${parameter.name}`)
    }
    for (const [status, { description }] of Object.entries(operation.responses)) {
      if (description === 'Default Response') undescribed.push(`${name(operation)} ${status}`)
    }
  }
  expect(undescribed).toEqual([])
  expect(JSON.stringify(document)).not.toMatch(/9007199254740991|"format":"[^"]+","pattern"/)
})

test('every request body has an example, which the server accepts', async () => {
  for (const operation of operations) {
    const content = operation.description.requestBody?.content['application/json']?.schema
    if (content === undefined || operation.path === '/v1/billing/webhook') continue
    const { examples = [] } = resolveReference(document, content)
    expect(examples.length, name(operation)).toBeGreaterThan(0)
    const person = operation.isPublic ? createClient(server.url) : await registerClient(server.url)
    for (const example of examples) {
      const path = operation.path.replaceAll(/\{[^}]+\}/g, '1')
      const { status, body } = await person.request(operation.method, path, example)
      const answer = `${name(operation)}: ${status} ${JSON.stringify(body)}`
      expect(['validation_failed', 'malformed_json', 'invalid_request_error'], answer).not.toContain(
        body.code ?? body.error?.code,
      )
      expect(status, answer).toBeLessThan(500)
    }
  }
})

test('every operation says who may call it', () => {
  const ends =
    /(Needs no session|For every(?:body| person) who is signed in|For every role|For the roles? [a-z_, ]+)\.$/
  for (const operation of operations) {
    expect(operation.description.description, name(operation)).toMatch(ends)
    expect(operation.description.description.endsWith('Needs no session.')).toBe(operation.isPublic)
  }
  const create = operations.find((each) => name(each) === 'POST /api/v1/model-deployments')!
  expect(create.description.description).toMatch(/For the roles member, admin, and super_admin\.$/)
})

test('bodies whose fields are all optional may be missing; an assistant’s message may have only tool calls', () => {
  const isRequired = (wanted: string) =>
    operations.find((each) => name(each) === wanted)!.description.requestBody.required === true
  expect(isRequired('POST /v1/billing/portal/session')).toBe(false)
  expect(isRequired('POST /v1/user/register')).toBe(true)
  const { messages } = document.components.schemas.ChatCompletionRequestInput.properties
  expect(messages.items.required).toEqual(['role'])
  expect(Object.keys(messages.items.properties)).toContain('tool_calls')
})

test('responses name their headers', () => {
  const headersOf = (wanted: string, status: string) =>
    Object.keys(operations.find((each) => name(each) === wanted)!.responses[status].headers ?? {})
  expect(headersOf('POST /v1/user/signin', '200')).toEqual(['Set-Cookie'])
  expect(headersOf('POST /v1/user/signin', '429')).toEqual(['Retry-After'])
  expect(headersOf('GET /v1/user/profile', '200')).toEqual(['ETag'])
  expect(headersOf('GET /v1/sso/login/{sso_provider}', '302')).toEqual(['Location', 'Set-Cookie'])
})

test('event streams: the shape of their events', () => {
  const operation = operations.find(({ description }) => description.operationId === 'listDeploymentEvents')!
  const { schema } = operation.responses['200'].content['text/event-stream']
  expect(schema.contentSchema.items.properties).toEqual({
    event: { enum: ['status'] },
    data: { $ref: '#/components/schemas/DeploymentEvent' },
  })
})

test('request bodies: a size from 0 on, `stream: null` and the webhook’s event', () => {
  const { schemas } = document.components
  const find = (id: string) => schemas[id] ?? schemas[`${id}Input`]
  const [size] = find('DeploymentRequest').properties.model_size_in_billions.anyOf
  expect(size).toEqual({ type: 'number', minimum: 0 })
  expect(JSON.stringify(find('ChatCompletionRequest').properties.stream)).toContain('"null"')
  const { requestBody } = operations.find((each) => name(each) === 'POST /v1/billing/webhook')!.description
  expect(requestBody.required).toBe(true)
  expect(find('WebhookEvent').properties).toMatchObject({
    id: { type: 'string' },
    object: { const: 'event' },
  })
})
