import type { RequestListener } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startEngine } from '../../../../../engine/test/support/engine.ts'
import { askEndpoint } from '../../../../src/features/endpoints/ask-endpoint.ts'
import { maxEndpoints } from '../../../../src/features/endpoints/manage-endpoints.ts'
import { deploy } from '../../../support/deployments.ts'
import { registerClient } from '../../../support/client.ts'
import { honest, json, startEndpointDouble } from '../../../support/endpoint-double.ts'
import type { EndpointDouble } from '../../../support/endpoint-double.ts'
import { createCast } from '../../../support/organizations.ts'
import { startAnsweringEngine } from '../../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/api/v1/endpoints'
const key = 'sk-secret-0123456789'

let double: EndpointDouble
let server: TestServer
let cast: Awaited<ReturnType<typeof createCast>>
beforeAll(async () => {
  double = await startEndpointDouble()
  server = await startTestServer({
    runtime: createScriptedRuntime(),
    worker: false,
    settings: { ENDPOINT_NETWORKS: '127.0.0.0/8' },
  })
})
afterAll(async () => {
  await server.close()
  await double.close()
})
beforeEach(async () => {
  double.answer(honest)
  double.requests.length = 0
  cast = await createCast(server)
})

const add = (more: object = {}) =>
  cast.admin.post(path, { name: 'Lab', base_url: `${double.url}/v1`, ...more })

describe('/api/v1/endpoints', () => {
  test('an admin adds one: it is checked with its key, and the key is shown to nobody', async () => {
    const { status, body } = await add({ key, prices: { input: '0.25', output: '2' } })
    expect(status, JSON.stringify(body)).toBe(201)
    expect(body).toEqual({
      id: expect.any(String),
      name: 'Lab',
      base_url: double.url,
      header: null,
      has_key: true,
      status: 'ready',
      status_message: null,
      checked_at: expect.any(String),
      models: [
        { name: 'llama', type: 'LLM', context_tokens: 4096 },
        { name: 'my-embedder', type: 'embedding', context_tokens: null },
      ],
      prices: { input: '0.25', output: '2' },
      created_at: expect.any(String),
    })
    expect(double.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /v1/models',
      'POST /v1/chat/completions',
    ])
    expect(double.requests.map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${key}`,
      `Bearer ${key}`,
    ])
    expect(JSON.parse(double.requests[1]!.body)).toMatchObject({ model: 'llama', max_tokens: 1 })
    const shown = [
      await cast.admin.get(path),
      await cast.admin.get(`${path}/${body.id}`),
      await cast.admin.get('/v1/organization/audit-log'),
      await server.application.db.selectFrom('endpoints').selectAll().execute(),
    ]
    expect(JSON.stringify(shown)).not.toContain(key)
    const rows = await server.application.db.selectFrom('endpoints').select('key').execute()
    expect(rows.every((row) => row.key === null || !row.key.includes(key))).toBe(true)
  })

  test('members see names and models, but not how it is reached; strangers see nothing', async () => {
    const { id } = (await add({ key })).body
    for (const client of [cast.member, cast.viewer]) {
      const { body } = await client.get(`${path}/${id}`)
      expect(body).toMatchObject({
        name: 'Lab',
        base_url: null,
        header: null,
        has_key: null,
        status_message: null,
      })
      expect(body.models).toHaveLength(2)
      expect((await client.get(path)).body.items).toEqual([body])
    }
    expect((await cast.stranger.get(`${path}/${id}`)).status).toBe(404)
    expect((await cast.stranger.get(path)).body.items).toEqual([])
    expect((await cast.admin.get(`${path}/no-id`)).status).toBe(404)
  })

  test('a key may be in another header; models may be chosen', async () => {
    const models = [
      { name: 'llama', type: 'LLM' },
      { name: 'bge-m3', context_tokens: 512 },
    ]
    const { body } = await add({ key, header: 'api-key', models })
    expect(body.models).toEqual([
      { name: 'llama', type: 'LLM', context_tokens: 4096 },
      { name: 'bge-m3', type: 'embedding', context_tokens: 512 },
    ])
    const [{ headers }] = double.requests as [EndpointDouble['requests'][0]]
    expect([headers['api-key'], headers.authorization]).toEqual([key, undefined])
  })

  test.each([
    ['base_url', { base_url: 'http://10.0.0.1/v1' }],
    ['base_url', { base_url: 'https://169.254.169.254/' }],
    ['base_url', { base_url: 'https://[::ffff:10.0.0.1]/' }],
    ['base_url', { base_url: 'https://0x0a000001/' }],
    ['base_url', { base_url: 'https://user:password@llm.example.com/' }],
    ['base_url', { base_url: 'https://llm.example.com/?a=b' }],
    ['base_url', { base_url: 'https://llm.example.com\\@127.0.0.1/' }],
    ['base_url', { base_url: 'ftp://llm.example.com/' }],
    ['base_url', { base_url: `https://llm.example.com/${'a'.repeat(600)}` }],
    ['key', { key: 'two\r\nlines' }],
    ['header', { header: 'Host' }],
    ['header', { header: 'a b' }],
    ['models', { models: [] }],
    ['models.0.name', { models: [{ name: 'a\nb' }] }],
    ['models', { models: [{ name: 'a' }, { name: 'a' }] }],
    ['prices.input', { prices: { input: '-1', output: '1' } }],
    ['name', { name: ' ' }],
  ])('%s is a 422 for %j, and nothing is asked', async (field, more) => {
    const { status, body } = await add(more)
    expect([status, body.code, body.errors?.[0].field]).toEqual([422, 'validation_failed', field])
    expect(double.requests).toEqual([])
  })

  test('names are unique in the organization, and there is a limit', async () => {
    await add()
    const asked = double.requests.length
    const twin = await add({ name: 'lab' })
    expect([twin.status, twin.body.code]).toEqual([409, 'endpoint_exists'])
    expect(double.requests, 'a twin is not asked').toHaveLength(asked)
    const { id } = (await add({ name: 'Other' })).body
    expect((await cast.admin.patch(`${path}/${id}`, { name: 'LAB' })).body.code).toBe('endpoint_exists')
    const { db } = server.application
    const row = await db.selectFrom('endpoints').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const { randomUUID } = await import('node:crypto')
    const copies = Array.from({ length: maxEndpoints - 2 }, (_, index) => ({
      ...row,
      id: randomUUID(),
      name: `copy ${index}`,
      listed_models: '[]',
      chosen_models: null,
      prices: null,
    }))
    await db.insertInto('endpoints').values(copies).execute()
    expect((await add({ name: 'One more' })).body.code).toBe('too_many_endpoints')
  })

  test('a change checks it again; a key goes to no other server', async () => {
    const { id } = (await add({ key })).body
    const other = await startEndpointDouble()
    const moved = await cast.admin.patch(`${path}/${id}`, { base_url: other.url })
    expect([moved.status, moved.body.errors[0].field]).toEqual([422, 'key'])
    expect(other.requests).toEqual([])
    const given = await cast.admin.patch(`${path}/${id}`, { base_url: other.url, key: 'sk-other' })
    expect(given.body).toMatchObject({ base_url: other.url, status: 'ready', has_key: true })
    expect(new Set(other.requests.map(({ headers }) => headers.authorization))).toEqual(
      new Set(['Bearer sk-other']),
    )
    other.requests.length = 0
    const renamed = await cast.admin.patch(`${path}/${id}`, { name: 'Renamed', prices: null })
    expect(renamed.body).toMatchObject({ name: 'Renamed', prices: null, has_key: true })
    expect(other.requests).toEqual([])
    const bare = await cast.admin.patch(`${path}/${id}`, { key: null, models: [{ name: 'llama' }] })
    expect(bare.body).toMatchObject({ has_key: false, models: [{ name: 'llama' }] })
    expect(other.requests[0]!.headers.authorization).toBeUndefined()
    await other.close()
  })

  test('delete ends it; each change is in the audit log', async () => {
    const { id } = (await add({ key })).body
    await cast.admin.post(`${path}/${id}/check`)
    await cast.admin.patch(`${path}/${id}`, { name: 'Renamed' })
    expect((await cast.admin.delete(`${path}/${id}`)).status).toBe(204)
    expect((await cast.admin.delete(`${path}/${id}`)).status).toBe(404)
    const { items } = (await cast.admin.get('/v1/organization/audit-log')).body
    const rows = items.filter(({ action }: { action: string }) => action.startsWith('endpoint.'))
    expect(rows.map(({ action, target }: any) => [action, target?.name ?? null])).toEqual([
      ['endpoint.deleted', 'Renamed'],
      ['endpoint.updated', 'Renamed'],
      ['endpoint.checked', 'Lab'],
      ['endpoint.created', 'Lab'],
    ])
  })
})

describe('a check says what answered', () => {
  const check = async (listener: RequestListener) => {
    const { id } = (await add({ key })).body
    double.answer(listener)
    return (await cast.admin.post(`${path}/${id}/check`)).body
  }

  test('the models and one token', async () => {
    expect(await check(honest)).toMatchObject({
      endpoint: { status: 'ready', status_message: null },
      listed: 2,
      answer: {
        asked: 'llama',
        model: 'llama-2026',
        milliseconds: expect.any(Number),
        input_tokens: 3,
        output_tokens: 1,
      },
    })
  })

  const onlyList =
    (listener: RequestListener): RequestListener =>
    (request, response) =>
      request.url === '/v1/models' ? listener(request, response) : honest(request, response)
  const onlyChat =
    (listener: RequestListener): RequestListener =>
    (request, response) =>
      request.url === '/v1/models' ? honest(request, response) : listener(request, response)

  test.each<[string, RequestListener, string, RegExp]>([
    [
      'a list of 10 MB',
      onlyList((_, response) => json(response, { data: [{ id: 'a'.repeat(10_000_000) }] })),
      'invalid',
      /too long/,
    ],
    [
      'HTML with 200',
      onlyList((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')),
      'invalid',
      /other than JSON/,
    ],
    ['no list', onlyList((_, response) => json(response, { data: 'none' })), 'invalid', /no list of models/],
    ['an empty list', onlyList((_, response) => json(response, { data: [] })), 'invalid', /lists no models/],
    [
      'a redirect',
      (_, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
      'invalid',
      /Redirects are not followed/,
    ],
    [
      'an echo of the key',
      (request, response) =>
        json(response, { error: { message: `Wrong: ${request.headers.authorization}` } }, 401),
      'refused',
      /Check the key/,
    ],
    ['a 403', onlyChat((_, response) => json(response, {}, 403)), 'refused', /completions answered 403/],
    ['an outage', (_, response) => json(response, {}, 503), 'unreachable', /503/],
    ['a broken connection', (request) => request.socket.destroy(), 'unreachable', /could not be reached/],
    [
      'no choices',
      onlyChat((_, response) => json(response, { choices: [] })),
      'invalid',
      /without `choices`/,
    ],
    [
      'a body that breaks off',
      onlyChat((request, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{')
        setImmediate(() => request.socket.destroy())
      }),
      'unreachable',
      /not complete/,
    ],
  ])('%s', async (_name, listener, status, message) => {
    const { endpoint, answer } = await check(listener)
    expect(endpoint).toMatchObject({ status, status_message: expect.stringMatching(message) })
    expect(answer).toBeNull()
    expect(JSON.stringify(endpoint)).not.toContain(key)
    expect(JSON.stringify((await cast.admin.get('/v1/organization/audit-log')).body)).not.toContain(key)
  })

  test('names that people can’t read, repeated ones and wrong types are omitted', async () => {
    const data = [
      { id: 'fine' },
      { id: 'fine' },
      { id: 'a\u202eb' },
      { id: '' },
      { id: 7 },
      null,
      { id: 'x'.repeat(300) },
      { id: 'other', max_model_len: -1 },
    ]
    const { endpoint, listed } = await check(onlyList((_, response) => json(response, { data })))
    expect(endpoint.models.map((model: { name: string }) => model.name)).toEqual(['fine', 'other'])
    expect(listed).toBe(2)
  })

  test('an answer without counts has none, and a model that thinks gets its own limit', async () => {
    const limits: unknown[] = []
    const listener = onlyChat((_, response) => {
      const { max_tokens: old, max_completion_tokens: limit } = JSON.parse(double.requests.at(-1)!.body)
      limits.push([old, limit])
      if (old !== undefined) return json(response, { error: {} }, 400)
      return json(response, { choices: [{}] })
    })
    expect((await check(listener)).answer).toMatchObject({
      model: null,
      input_tokens: null,
      output_tokens: null,
    })
    expect(limits).toEqual([
      [1, undefined],
      [undefined, 16],
    ])
  })

  test('an endpoint that is away keeps its models; one that was changed meanwhile keeps the newer finding', async () => {
    const { endpoint } = await check((_, response) => json(response, {}, 503))
    expect(endpoint).toMatchObject({
      status: 'unreachable',
      models: [{ name: 'llama' }, { name: 'my-embedder' }],
    })
    let isHeld = true
    const held = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    double.answer(async (request, response) => {
      if (!isHeld) return honest(request, response)
      isHeld = false
      held.resolve()
      await goOn.promise
      json(response, {}, 401)
    })
    const checking = cast.admin.post(`${path}/${endpoint.id}/check`)
    await held.promise
    const changed = await cast.admin.patch(`${path}/${endpoint.id}`, { key: 'sk-right' })
    expect(changed.body.status).toBe('ready')
    goOn.resolve()
    await checking
    expect((await cast.admin.get(`${path}/${endpoint.id}`)).body.status).toBe('ready')
  })

  test('slow bytes end with the time', async () => {
    double.answer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{')
    })
    const startedAt = performance.now()
    const access = { baseUrl: double.url, header: null, key: null }
    const finding = await askEndpoint(server.application, access, null)
    expect(finding).toMatchObject({ status: 'unreachable', message: expect.stringMatching(/in time/) })
    expect(performance.now() - startedAt).toBeLessThan(20_000)
  })
})

describe('real servers answer a check', () => {
  test('the engine', async () => {
    const engine = startEngine({ flags: { '--alias': 'tiny', '--context': '1024' } })
    const { body } = await add({ base_url: await engine.ready(), key: engine.key })
    expect(body).toMatchObject({ status: 'ready', models: [{ name: 'tiny', type: 'LLM' }] })
    const wrong = await cast.admin.patch(`${path}/${body.id}`, { key: 'wrong' })
    expect(wrong.body).toMatchObject({ status: 'refused', models: [{ name: 'tiny' }] })
    await engine.stop()
    expect((await cast.admin.post(`${path}/${body.id}/check`)).body.endpoint.status).toBe('unreachable')
  })

  test('another Berth, by a session', async () => {
    const runtime = createScriptedRuntime()
    const engine = await startAnsweringEngine(runtime)
    const other = await startTestServer({ runtime })
    const client = await registerClient(other.url)
    await deploy(client)
    const outside = await add({ base_url: other.url })
    expect(outside.body).toMatchObject({ status: 'refused', models: [] })
    const { id } = outside.body
    const { body } = await cast.admin.patch(`${path}/${id}`, { header: 'Cookie', key: client.cookie() })
    expect(body, JSON.stringify(body)).toMatchObject({
      status: 'ready',
      models: [{ name: 'berth-tiny', type: 'LLM', context_tokens: expect.any(Number) }],
    })
    await other.close()
    await engine.close()
  })
})
