import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient, registerClient } from '../../support/client.ts'
import { deploy, waitForStatus } from '../../support/deployments.ts'
import { makeDue } from '../../support/reconcile.ts'
import { setRole } from '../../support/roles.ts'
import { createScriptedRuntime } from '../../support/scripted-runtime.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

const runtime = createScriptedRuntime()

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ runtime })
})
afterAll(() => server.close())

test('GET /v1/models: the models of the user’s running deployments in OpenAI’s shape, each once', async () => {
  const client = await registerClient(server.url, { organization: 'Harbor Ltd' })
  const deploy = async (model_name: string, by = client) =>
    (await by.post('/api/v1/model-deployments', { model_name })).body
  expect((await client.get('/v1/models')).body).toEqual({ object: 'list', data: [] })
  const chats = [await deploy('berth-tiny'), await deploy('berth-tiny')]
  const embedding = await deploy('berth-tiny-embedding')
  const stranger = await registerClient(server.url)
  await deploy('berth-tiny', stranger)
  for (const { id } of [...chats, embedding]) await waitForStatus(client, id, 'running')
  const created = (text: string) => Math.floor(Date.parse(text) / 1000)
  const { status, body } = await client.get('/v1/models')
  expect(status).toBe(200)
  expect(body).toEqual({
    object: 'list',
    data: expect.arrayContaining([
      {
        id: 'berth-tiny',
        object: 'model',
        created: created(chats[0].created_at),
        type: 'chat',
        base_model: null,
        max_model_len: expect.any(Number),
        capabilities: ['chat', 'tools'],
        owned_by: 'Harbor Ltd',
        deployments: [chats[1].id, chats[0].id],
        shadowed_deployments: [],
      },
      {
        id: 'berth-tiny-embedding',
        object: 'model',
        created: created(embedding.created_at),
        type: 'embedding',
        base_model: null,
        max_model_len: expect.any(Number),
        capabilities: ['embeddings'],
        owned_by: 'Harbor Ltd',
        deployments: [embedding.id],
        shadowed_deployments: [],
      },
    ]),
  })
  expect(body.data).toHaveLength(2)
  await setRole(server, client.email, 'viewer')
  expect((await client.get('/v1/models')).body).toEqual(body)
})

test('GET /v1/models: deployments that are not running are omitted', async () => {
  const client = await registerClient(server.url)
  runtime.answer({ ensureEngine: () => ({ phase: 'starting', message: 'Soon.' }) })
  const { id } = await deploy(client, 'berth-tiny', 'deploying')
  expect((await client.get('/v1/models')).body.data).toEqual([])
  runtime.reset()
  await waitForStatus(client, id, 'running')
  expect((await client.get('/v1/models')).body.data).toHaveLength(1)
  await client.delete(`/api/v1/model-deployments/${id}`)
  expect((await client.get('/v1/models')).body.data).toEqual([])
})

test('GET /v1/models: a deployment that has served stays in the list while it is started again', async () => {
  const client = await registerClient(server.url)
  const { id } = await deploy(client)
  const { body } = await client.get('/v1/models')
  const gone = { phase: 'failed', stage: 'runtime', code: 'engine_crashed', message: 'It ended.' } as const
  runtime.answer({ observeEngine: () => gone, ensureEngine: () => gone })
  await makeDue(server, id)
  await waitForStatus(client, id, 'deploying')
  expect((await client.get('/v1/models')).body).toEqual(body)
  expect((await client.get(`/v1/models/${id}`)).body).toEqual({ ...body.data[0], id })
  runtime.reset()
  await client.delete(`/api/v1/model-deployments/${id}`)
  expect((await client.get('/v1/models')).body.data).toEqual([])
})

test('a deployment answers to its catalog’s name and id in any case, and its description has the name of the request', async () => {
  const client = await registerClient(server.url)
  const { id } = await deploy(client, 'BERTH-Tiny')
  const answer = await client.get('/v1/models/Berth-Tiny')
  expect(answer).toMatchObject({ status: 200, body: { id: 'Berth-Tiny', deployments: [id] } })
  expect((await client.get('/v1/models/berth-tiny-embedding')).status).toBe(404)
})

test('GET /v1/models/{model}: one model by name, deployment id or uid; 404 model_not_found otherwise', async () => {
  const client = await registerClient(server.url, { organization: 'Quay Ltd' })
  const { id } = await deploy(client)
  const [listed] = (await client.get('/v1/models')).body.data
  expect((await client.get('/v1/models/berth-tiny')).body).toEqual(listed)
  for (const name of [id, `dep-${id}`]) {
    const { status, body } = await client.get(`/v1/models/${name}`)
    expect([status, body]).toEqual([200, { ...listed, id: name }])
  }
  const stranger = await registerClient(server.url)
  for (const answer of [await client.get('/v1/models/nothing'), await stranger.get(`/v1/models/${id}`)]) {
    expect(answer.status).toBe(404)
    expect(answer.body.error).toMatchObject({ type: 'invalid_request_error', code: 'model_not_found' })
  }
})

test('unknown routes of OpenAI’s API: 404 unknown_url in OpenAI’s shape', async () => {
  const client = createClient(server.url)
  for (const answer of [
    await client.get('/v1/files?limit=1'),
    await client.post('/v1/moderations', { model: 'berth-tiny', input: 'Hi' }),
    await client.get('/v1/chat/nothing'),
  ]) {
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      404,
      expect.stringContaining('application/json'),
    ])
    expect(answer.body.error).toMatchObject({
      type: 'invalid_request_error',
      param: null,
      code: 'unknown_url',
    })
  }
})

test.each([
  ['GET', '/v1/chat/completions', 'POST'],
  ['DELETE', '/v1/embeddings?x=1', 'POST'],
  ['POST', '/v1/models', 'GET, HEAD'],
  ['PUT', '/v1/models/berth-tiny', 'GET, HEAD'],
])('405 with Allow in OpenAI’s shape: %s %s', async (method, path, allow) => {
  const answer = await createClient(server.url).request(method, path)
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow])
  const message = expect.stringContaining(allow)
  expect(answer.body).toEqual({
    error: { message, type: 'invalid_request_error', param: null, code: 'method_not_allowed' },
  })
})

test('GET /v1/models: 401 without a session, in OpenAI’s shape', async () => {
  const answer = await createClient(server.url).get('/v1/models')
  expect(answer.status).toBe(401)
  expect(answer.body).toEqual({
    error: {
      message: expect.any(String),
      type: 'authentication_error',
      param: null,
      code: 'not_authenticated',
    },
  })
})

describe('clients of Anthropic’s API', () => {
  const version = { 'anthropic-version': '2023-06-01' }

  test('GET /v1/models with their header: pages in Anthropic’s shape', async () => {
    const client = await registerClient(server.url)
    const get = (path: string) => client.request('GET', path, undefined, version)
    const none = { data: [], has_more: false, first_id: null, last_id: null }
    expect((await get('/v1/models')).body).toEqual(none)
    const created: { id: string; created_at: string }[] = []
    for (const alias of ['a', 'b', 'c']) {
      const deployment = await deploy(client)
      expect((await client.patch(`/api/v1/model-deployments/${deployment.id}`, { alias })).status).toBe(200)
      created.push(deployment)
    }
    const all = (await get('/v1/models')).body
    expect(all).toMatchObject({ has_more: false, first_id: all.data[0].id, last_id: all.data.at(-1).id })
    const ids: string[] = all.data.map(({ id }: { id: string }) => id)
    expect(ids.toSorted()).toEqual(['a', 'b', 'berth-tiny', 'c'])
    const model = { type: 'model', id: 'a', display_name: 'berth-tiny', created_at: created[0]!.created_at }
    expect(all.data.find(({ id }: { id: string }) => id === 'a')).toEqual(model)
    expect((await get('/v1/models/a')).body).toEqual(model)
    const [first, second, third, fourth] = ids
    const page = async (query: string) => {
      const { body } = await get(`/v1/models?${query}`)
      return [body.data.map(({ id }: { id: string }) => id), body.has_more]
    }
    expect(await page('limit=2')).toEqual([[first, second], true])
    expect(await page(`limit=2&after_id=${second}`)).toEqual([[third, fourth], false])
    expect(await page(`limit=2&before_id=${fourth}`)).toEqual([[second, third], true])
    expect(await page(`before_id=${third}`)).toEqual([[first, second], false])
    expect((await client.get('/v1/models')).body).toMatchObject({ object: 'list', data: { length: 4 } })
    const headers = { ...version, cookie: client.cookie() }
    const unknown = await fetch(`${server.url}/v1/models/nope`, { headers })
    const error = { type: 'not_found_error' }
    expect([unknown.status, await unknown.json()]).toMatchObject([404, { type: 'error', error }])
  })

  test('each response of their routes has the header `request-id`', async () => {
    const client = await registerClient(server.url)
    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
      for (const more of [{}, { 'x-forwarded-for': '1.2.3.4' }]) {
        const body = { model: 'nope', messages: [] }
        const { headers } = await client.request('POST', path, body, more)
        expect(headers.get('request-id')).toBe(headers.get('x-request-id'))
        expect(headers.get('request-id')).toMatch(/^[\w-]{36}$/)
      }
    }
    const { headers } = await client.post('/v1/chat/completions', { model: 'nope', messages: [] })
    expect(headers.has('request-id')).toBe(false)
  })
})

test('GET /v1/models/{model}: the slashes of a name may be plain or escaped', async () => {
  const client = await registerClient(server.url)
  const { id } = await deploy(client)
  for (const alias of ['acme/qwen:7b', 'a//b', '/lead', 'trail/', 'v1/models']) {
    expect((await client.patch(`/api/v1/model-deployments/${id}`, { alias })).status).toBe(200)
    const escaped = await client.get(`/v1/models/${encodeURIComponent(alias)}`)
    expect([escaped.status, escaped.body]).toMatchObject([200, { id: alias, deployments: [id] }])
    const plain = await client.get(`/v1/models/${alias}`)
    expect([plain.status, plain.body]).toEqual([200, escaped.body])
  }
  const unknown = await client.get('/v1/models/acme/other')
  expect([unknown.status, unknown.body.error]).toMatchObject([404, { code: 'model_not_found' }])
})

test.each([
  ['POST', '/chat/completions', '/v1/chat/completions'],
  ['POST', '/v1/v1/messages', '/v1/messages'],
  ['GET', '/models', '/v1/models'],
  ['GET', '/v1/models/', '/v1/models'],
])('%s %s: a 404 that names the route', async (method, path, meant) => {
  const client = await registerClient(server.url)
  const { status, body } = await client.request(method, path, method === 'POST' ? {} : undefined)
  expect([status, body.error.message]).toEqual([
    404,
    `Berth has no route ${method} ${path}. The route is ${meant}: correct the base URL of your client.`,
  ])
})
