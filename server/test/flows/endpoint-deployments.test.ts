// Models of endpoints are deployed and called. What the endpoint sends is not trusted.
import type { RequestListener, ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { hour } from '../support/clock.ts'
import { waitForStatus } from '../support/deployments.ts'
import { honest, json, startEndpointDouble } from '../support/endpoint-double.ts'
import type { EndpointDouble } from '../support/endpoint-double.ts'
import { joinClient } from '../support/organizations.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { settleTrusted } from '../support/settle.ts'

const path = '/api/v1/model-deployments'
const key = 'sk-secret-0123456789'
const messages = [{ role: 'user', content: 'Hi' }]

let double: EndpointDouble
let server: TestServer
let admin: Client
beforeAll(async () => {
  server = await startTestServer({
    settings: { RUNTIME: 'endpoints', ENDPOINT_NETWORKS: '127.0.0.0/8,::1/128' },
  })
})
afterAll(() => server.close())
beforeEach(async () => {
  double = await startEndpointDouble()
  admin = await registerClient(server.url)
  return () => double.close()
})

const add = async (more: object = {}, client = admin) => {
  const { status, body } = await client.post('/api/v1/endpoints', {
    name: 'Lab',
    base_url: `${double.url}/v1`,
    key,
    ...more,
  })
  expect(status, JSON.stringify(body)).toBe(201)
  return body
}

async function deployLlama(client = admin, more: object = {}) {
  const created = await client.post(path, { model_name: 'llama', ...more })
  expect(created.status, JSON.stringify(created.body)).toBe(201)
  return waitForStatus(client, created.body.id, 'running')
}

const chat = (more: object = {}, client = admin) =>
  client.post('/v1/chat/completions', { model: 'llama', messages, ...more })

/** The requests of callers. The worker asks whether the endpoint is there. */
const listCalls = ({ requests }: EndpointDouble) => requests.filter(({ method }) => method === 'POST')

async function usageOf(id: string, requests: number) {
  const read = async () => (await admin.get(`${path}/${id}/usage`)).body
  await expect.poll(async () => (await read()).requests).toBe(requests)
  return read()
}

describe('an endpoint’s models', () => {
  const models = async (client = admin, query = '') =>
    (await client.get(`/api/v1/deployable-models${query}`)).body.items.filter(
      ({ source }: any) => source.kind === 'endpoint',
    )

  test('are in the organization’s catalog, and in no other', async () => {
    const { id } = await add({ prices: { input: '0.25', output: '2' } })
    expect(await models()).toMatchObject([
      {
        model_name: 'llama',
        provider: 'Lab',
        owner: 'organization',
        source: { kind: 'endpoint', endpoint_id: id, prices: { input: '0.25', output: '2' } },
        variants: [{ model_format: 'endpoint', quantizations: ['none'] }],
      },
    ])
    expect(await models(admin, '?model_type=embedding')).toMatchObject([{ model_name: 'my-embedder' }])
    expect(await models(await registerClient(server.url))).toEqual([])
  })

  test('follow its list, its name and its prices, and keep what people changed', async () => {
    const { id } = await add()
    const [before] = await models()
    await admin.patch(`/api/v1/deployable-models/${before.id}`, { display_name: 'Our llama' })
    await admin.patch(`/api/v1/endpoints/${id}`, {
      name: 'New lab',
      prices: { input: '1', output: '1' },
      models: [{ name: 'llama' }, { name: 'other' }],
    })
    expect(await models()).toMatchObject([
      {
        id: before.id,
        display_name: 'Our llama',
        provider: 'New lab',
        source: { prices: { input: '1', output: '1' } },
      },
      { model_name: 'other' },
    ])
    expect(await models(admin, '?model_type=embedding')).toEqual([])
    const removed = await admin.delete(`/api/v1/deployable-models/${before.id}`)
    expect([removed.status, removed.body.code]).toEqual([409, 'endpoint_model'])
    await admin.delete(`/api/v1/endpoints/${id}`)
    expect(await models()).toEqual([])
  })

  test('have another name where theirs means something else', async () => {
    await add({ name: 'First', models: [{ name: 'llama' }, { name: 'berth-tiny' }] })
    await add({ name: 'My 2nd lab', models: [{ name: 'LLAMA' }] })
    expect((await models()).map(({ model_name: name }: any) => name)).toEqual([
      'first/berth-tiny',
      'llama',
      'my-2nd-lab/LLAMA',
    ])
  })
})

describe('a deployment of an endpoint’s model', () => {
  test('is planned, runs at once, answers with the endpoint’s key, and ends', async () => {
    const { id: endpointId } = await add()
    expect((await admin.post(`${path}/plan`, { model_name: 'llama' })).body).toMatchObject({
      feasible: true,
      instance_type: 'endpoint',
      price_per_hour: '0',
      context_tokens: 4096,
      memory_bytes: 0,
    })
    const { id } = await deployLlama()
    expect((await admin.get(`${path}/${id}`)).body).toMatchObject({
      selected_instance_type: 'endpoint',
      cluster_id: endpointId,
      policy: { idle_minutes: null, min_instances: 1, max_instances: 1 },
    })
    double.requests.length = 0
    const answer = await chat({ temperature: 0.5, some_new_field: [1] })
    expect(answer).toMatchObject({ status: 200, body: { choices: [{ message: { content: 'Hi' } }] } })
    const [request] = listCalls(double)
    expect([request!.url, request!.headers.authorization]).toEqual(['/v1/chat/completions', `Bearer ${key}`])
    expect(JSON.parse(request!.body)).toEqual({
      model: 'llama',
      messages,
      temperature: 0.5,
      some_new_field: [1],
    })
    const refused = await admin.delete(`/api/v1/endpoints/${endpointId}`)
    expect([refused.status, refused.body.code, refused.body.deployment_ids]).toEqual([
      409,
      'endpoint_in_use',
      [id],
    ])
    await admin.delete(`${path}/${id}`)
    await waitForStatus(admin, id, 'terminated')
    expect((await admin.delete(`/api/v1/endpoints/${endpointId}`)).status).toBe(204)
  })

  test.each([
    ['', '/v1/chat/completions'],
    ['/', '/v1/chat/completions'],
    ['/v1', '/v1/chat/completions'],
    ['/v1/', '/v1/chat/completions'],
    ['/api/v1', '/api/v1/chat/completions'],
    ['/openai', '/openai/v1/chat/completions'],
  ])('a base URL with the path %j is asked at %s', async (base, url) => {
    const models = [{ name: 'llama' }]
    await add({ base_url: double.url + base, models })
    await deployLlama()
    double.requests.length = 0
    expect((await chat()).status).toBe(200)
    expect(listCalls(double).map((request) => request.url)).toEqual([url])
  })

  test('refuses by name what an endpoint can’t do', async () => {
    await add()
    const { id } = await deployLlama()
    for (const change of [
      { idle_minutes: 5 },
      { max_instances: 2 },
      { min_instances: 2, max_instances: 2 },
      { schedules: [{ cron: '0 8 * * *', time_zone: 'UTC', min_instances: 1 }] },
      { yields: true },
      { target_concurrency: 3 },
      { min_parallel_sequences: 2 },
    ]) {
      const { status, body } = await admin.patch(`${path}/${id}`, change)
      expect([status, body.code], JSON.stringify(change)).toEqual([400, 'not_for_endpoints'])
      expect(body.detail).toContain(Object.keys(change)[0])
    }
    expect((await admin.patch(`${path}/${id}`, { idle_minutes: null, max_instances: 1 })).status).toBe(200)
    expect(
      (await admin.patch(`${path}/${id}`, { alias: 'team-chat', min_context_tokens: 4096 })).status,
    ).toBe(200)
    const sleeping = await admin.post(`${path}/${id}/sleep`)
    expect([sleeping.status, sleeping.body.code]).toEqual([400, 'not_for_endpoints'])
    for (const more of [{ engine_options: { a: 1 } }, { min_parallel_sequences: 2 }]) {
      const { status, body } = await admin.post(path, { model_name: 'llama', ...more })
      expect([status, body.code]).toEqual([400, 'not_for_endpoints'])
    }
    const { body } = await admin.post(`${path}/plan`, { model_name: 'llama', min_context_tokens: 5000 })
    expect(body).toMatchObject({ feasible: false, reason: expect.stringContaining('4096 tokens') })
  })

  test('uses another address, key and header of its endpoint from the next request on', async () => {
    const { id } = await add()
    await deployLlama()
    expect((await chat()).status).toBe(200)
    const other = await startEndpointDouble()
    await admin.patch(`/api/v1/endpoints/${id}`, {
      base_url: `${other.url}/v1`,
      key: 'new',
      header: 'api-key',
    })
    double.requests.length = 0
    other.requests.length = 0
    await expect
      .poll(async () => {
        await chat()
        return listCalls(other).length
      })
      .toBe(1)
    expect(listCalls(double).length).toBeLessThan(2)
    const [{ headers }] = listCalls(other) as [EndpointDouble['requests'][0]]
    expect([headers['api-key'], headers.authorization]).toEqual(['new', undefined])
    await other.close()
  })

  test('is called by colleagues with the same key, and by nobody else', async () => {
    await add()
    const { id } = await deployLlama()
    await admin.patch(`${path}/${id}`, { shared_with: 'organization' })
    const colleague = await joinClient(server, admin, 'viewer')
    expect((await chat({}, colleague)).status).toBe(200)
    expect((await chat({}, await registerClient(server.url))).status).toBe(404)
  })
})

describe('what the endpoint sends', () => {
  let id: string
  beforeEach(async () => {
    await add({ prices: { input: '1', output: '1' } })
    ;({ id } = await deployLlama())
  })

  const answerWith = (listener: RequestListener) => double.answer(listener)
  const stream = (response: ServerResponse, events: readonly object[]) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`)
    response.end('data: [DONE]\n\n')
  }

  test.each<[string, RequestListener, number, string]>([
    [
      'a 401',
      (_, response) => json(response, { error: { message: `bad key ${key}` } }, 401),
      502,
      'endpoint_refused',
    ],
    ['a 403', (_, response) => json(response, {}, 403), 502, 'endpoint_refused'],
    [
      'HTML with 200',
      (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<script>'),
      502,
      'engine_response_invalid',
    ],
    [
      'a redirect',
      (_, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
      502,
      'engine_response_invalid',
    ],
    ['nothing', (request) => request.socket.destroy(), 502, 'upstream_unavailable'],
    ['a page of a proxy', (_, response) => response.writeHead(500).end('<html>'), 500, 'engine_error'],
    [
      'a long error',
      (_, response) => json(response, { error: { message: key.repeat(30_000) } }, 400),
      502,
      'engine_response_invalid',
    ],
  ])(
    '%s is an error for the caller, without the key and without cost',
    async (_name, listener, status, code) => {
      answerWith(listener)
      const answer = await chat()
      expect([answer.status, answer.body.error?.code]).toEqual([status, code])
      expect(JSON.stringify(answer.body)).not.toContain('secret')
      answerWith(honest)
      await chat()
      expect((await usageOf(id, 1)).input_tokens).toBe(3)
    },
  )

  test('an error that repeats the key loses it', async () => {
    answerWith((request, response) =>
      json(response, { error: { message: `No model for ${request.headers.authorization}` } }, 404),
    )
    expect(await chat()).toMatchObject({
      status: 404,
      body: { error: { message: 'No model for Bearer ***' } },
    })
  })

  test('a 429 passes with its Retry-After', async () => {
    answerWith((_, response) => {
      response.setHeader('retry-after', '17')
      json(response, { error: { message: 'slow down' } }, 429)
    })
    const answer = await chat()
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '17'])
  })

  test('a request goes to the next deployment of the alias if the endpoint is full or refuses the key', async () => {
    const next = await startEndpointDouble()
    await add({ name: 'Second', base_url: next.url, models: [{ name: 'spare' }] })
    const { body: spare } = await admin.post(path, { model_name: 'spare' })
    await waitForStatus(admin, spare.id, 'running')
    await admin.patch(`${path}/${id}`, { alias: 'chat', alias_order: 1 })
    await admin.patch(`${path}/${spare.id}`, { alias: 'chat', alias_order: 2 })
    for (const status of [429, 401]) {
      answerWith((_, response) => json(response, {}, status))
      const answer = await chat({ model: 'chat' })
      expect([answer.status, answer.headers.get('x-berth-deployment')]).toEqual([200, spare.id])
    }
    await next.close()
  })

  test('an answer without counts costs nothing; a stream without counts costs a token for each event', async () => {
    answerWith((_, response) => json(response, { choices: [{ message: { content: 'Hi' } }] }))
    expect((await chat()).status).toBe(200)
    expect(await usageOf(id, 1)).toMatchObject({ input_tokens: 0, output_tokens: 0 })
    const event = (content: string) => ({ choices: [{ index: 0, delta: { content } }] })
    answerWith((_, response) => stream(response, [event('a'), event('b'), event('c')]))
    expect((await chat({ stream: true })).body).toContain('"content":"b"')
    expect(await usageOf(id, 2)).toMatchObject({ input_tokens: 0, output_tokens: 3 })
  })

  test('an answer of another model than asked is the caller’s, with its own name', async () => {
    answerWith((_, response) =>
      json(response, {
        model: 'cheaper',
        choices: [{ message: {} }],
        usage: { prompt_tokens: 1, completion_tokens: 1 },
      }),
    )
    expect((await chat()).body.model).toBe('cheaper')
  })

  test('goes and comes', async () => {
    const { port } = new URL(double.url)
    const { status_message: before } = (await admin.get(`${path}/${id}`)).body
    expect(before).toBeNull()
    const expectMessage = (expected: unknown) =>
      expect
        .poll(async () => {
          const { body } = await admin.get(`${path}/${id}`)
          return [body.status, body.status_message]
        })
        .toEqual(['running', expected])
    await double.close()
    expect((await chat()).status).toBe(502)
    await expectMessage('The endpoint does not respond. Requests fail until it does.')
    double = await startEndpointDouble(Number(port))
    await expect.poll(async () => (await chat()).status, { timeout: 20_000 }).toBe(200)
    await expectMessage(null)
  })

  test('a proxy’s word for a server that is gone counts as away, and a refusal does not', async () => {
    const read = async () => (await admin.get(`${path}/${id}`)).body.status_message
    answerWith((_, response) => response.writeHead(503).end())
    await expect.poll(read).toContain('does not respond')
    const asked = () => double.requests.filter(({ method }) => method === 'GET')
    for (const status of [401, 500]) {
      answerWith((_, response) => response.writeHead(status).end())
      const before = asked().length
      await expect.poll(() => asked().length).toBeGreaterThan(before)
      await expect.poll(read, { message: String(status) }).toBeNull()
    }
  })
})

test('tokens cost what the endpoint charges, from the hour on in which its prices were named', async () => {
  let now = new Date('2026-05-04T10:20:00Z')
  const priced = await startTestServer({
    clock: () => now,
    settings: { RUNTIME: 'endpoints', ENDPOINT_NETWORKS: '127.0.0.0/8' },
  })
  try {
    admin = await registerClient(priced.url)
    const { id: endpointId } = await add()
    const { id } = await deployLlama()
    const costOf = async () => (await admin.get(`${path}/${id}/usage`)).body.cost
    await chat()
    await usageOf(id, 1)
    expect(await costOf(), 'the price list has no price for tokens').toBe('0')
    await admin.patch(`/api/v1/endpoints/${endpointId}`, { prices: { input: '0.000001', output: '2.5' } })
    // 3 × 0.000001 / 1,000,000 + 2.5 / 1,000,000
    expect(await costOf()).toBe('0.000002500003')
    await admin.patch(`/api/v1/endpoints/${endpointId}`, { prices: { input: '1000', output: '1000' } })
    await chat()
    await usageOf(id, 2)
    expect(await costOf(), 'a change waits for the next hour').toBe('0.000005000006')
    now = new Date(now.getTime() + hour)
    await chat()
    await usageOf(id, 3)
    expect(await costOf()).toBe('0.004005000006')
    now = new Date(now.getTime() + 3 * hour)
    await settleTrusted(priced.application)
    expect(await costOf(), 'sealed').toBe('0.004005000006')
    const { db } = priced.application
    const buckets = await db.selectFrom('usage_buckets').select(['meter', 'sealed_at']).execute()
    expect(new Set(buckets.map(({ meter }) => meter)).size).toBe(3)
    expect(buckets.filter(({ sealed_at: sealedAt }) => sealedAt !== null).length).toBeGreaterThan(3)
    const { body } = await admin.get('/v1/billing/usage-summary')
    expect(JSON.stringify(body)).toContain('Output tokens of llama')
  } finally {
    await priced.close()
  }
})
