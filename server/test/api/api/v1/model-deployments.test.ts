import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import { setRole } from '../../../support/roles.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/api/v1/model-deployments'
const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

let server: TestServer
let client: Awaited<ReturnType<typeof registerClient>>
beforeAll(async () => {
  server = await startTestServer({ worker: false, settings: { LOCAL_MEMORY_LIMIT: '64GiB' } })
  client = await registerClient(server.url)
})
afterAll(() => server.close())

async function create(body: unknown = { model_name: 'berth-tiny' }, by = client) {
  return by.post(path, body)
}

test('POST /api/v1/model-deployments: 201 `requested` with the catalog’s defaults, fields not known yet null', async () => {
  const { body: session } = await client.get('/v1/auth/session')
  const answer = await create({ model_name: 'qwen2.5-instruct' })
  expect(answer.status).toBe(201)
  const { variants } = (await client.get('/api/v1/deployable-models/qwen2.5-instruct')).body
  const standard = variants.find((variant: { default: boolean }) => variant.default)
  expect(answer.body).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
    user_id: String(session.user.id),
    owner: { user_id: String(session.user.id), email: session.user.email, name: session.user.name },
    organization_id: expect.stringMatching(/^\d+$/),
    shared_with: null,
    alias: null,
    alias_order: null,
    adapters: [],
    cluster_id: null,
    instance_id: null,
    gpu_allocation_id: null,
    model_name: 'qwen2.5-instruct',
    model_type: 'LLM',
    model_format: standard.model_format,
    model_size_in_billions: standard.model_size_in_billions,
    quantization: expect.toBeOneOf(standard.quantizations),
    inference_model_uid: `dep-${answer.body.id}`,
    status: 'requested',
    waiting_for: null,
    status_message: null,
    progress: null,
    selected_instance_type: expect.any(String),
    selection_reason: expect.stringMatching(/\.$/),
    context_tokens: null,
    engine: null,
    parallel_sequences: null,
    instances: [
      {
        id: expect.any(String),
        status: 'starting',
        instance_type: null,
        region: null,
        cluster_id: null,
        instance_id: null,
        gpu_allocation_id: null,
        started_at: null,
        memory_bytes: null,
        engine: null,
        in_flight: 0,
      },
    ],
    policy: {
      min_instances: 1,
      max_instances: 1,
      idle_minutes: null,
      yields: false,
      cache_scope: 'organization',
      target_concurrency: null,
      schedules: [],
    },
    min_context_tokens: null,
    min_parallel_sequences: null,
    requested_instance_type: null,
    engine_options: {},
    engine_version: null,
    managed_by: null,
    managed_name: null,
    failure_stage: null,
    failure_reason: null,
    created_at: instant,
    updated_at: answer.body.created_at,
    terminated_at: null,
  })
})

test.each([1.5, '1.5', '1_5', 1.5, 7, '7', '7.0'])(
  'POST /api/v1/model-deployments: size %j is accepted and returned as a number',
  async (size) => {
    const answer = await create({ model_name: 'qwen2.5-instruct', model_size_in_billions: size })
    expect(answer.status).toBe(201)
    expect(answer.body.model_size_in_billions).toBe(Number(String(size).replace('_', '.')))
  },
)

test('POST /api/v1/model-deployments: format and quantization are case-insensitive and returned in the catalog’s spelling', async () => {
  const answer = await create({
    model_name: 'qwen2.5-instruct',
    model_format: 'GGUFv2',
    quantization: 'q5_k_m',
  })
  expect(answer.body).toMatchObject({ model_format: 'ggufv2', quantization: 'Q5_K_M' })
})

test('POST /api/v1/model-deployments: null counts as not given', async () => {
  const nothing = { model_format: null, model_size_in_billions: null, quantization: null }
  const given = await create({ model_name: 'qwen2.5-instruct', ...nothing })
  const omitted = await create({ model_name: 'qwen2.5-instruct' })
  expect(given.status).toBe(201)
  for (const field of Object.keys(nothing)) expect(given.body[field]).toBe(omitted.body[field])
})

test('POST /api/v1/model-deployments: the minimums of the request hold from the start; one that no instance type meets is a 422', async () => {
  const minimums = { min_context_tokens: 2048, min_parallel_sequences: 2 }
  const created = await create({ model_name: 'berth-tiny', ...minimums })
  expect(created).toMatchObject({ status: 201, body: minimums })
  expect((await client.get(`${path}/${created.body.id}`)).body).toMatchObject(minimums)
  const impossible = await create({ model_name: 'berth-tiny', min_context_tokens: 1_000_000 })
  expect(impossible).toMatchObject({ status: 422, body: { code: 'model_not_deployable' } })
  expect(impossible.body.detail).toContain('A context of 1000000 tokens')
})

test('POST /api/v1/model-deployments: only the instance type of the request may serve', async () => {
  const { body: plan } = await client.post(`${path}/plan`, { model_name: 'berth-tiny' })
  const created = await create({ model_name: 'berth-tiny', instance_type: plan.instance_type })
  expect(created).toMatchObject({ status: 201, body: { requested_instance_type: plan.instance_type } })
  const unknown = { model_name: 'berth-tiny', instance_type: 'no-such-type' }
  const refused = await create(unknown)
  expect(refused).toMatchObject({ status: 422, body: { code: 'model_not_deployable' } })
  expect(refused.body.detail).toContain('This server has no instance type no-such-type, but ')
  expect((await client.post(`${path}/plan`, unknown)).body).toMatchObject({ feasible: false })
})

test.each(['Qwen3-Instruct', 'qwen3-instruct', 'QWEN3-INSTRUCT', 'qwen3-CODER'])(
  'POST /api/v1/model-deployments: the name or id %s matches in any case',
  async (name) => {
    const answer = await create({ model_name: name })
    expect(answer.status).toBe(201)
    const { body } = await client.get('/api/v1/deployable-models')
    const names = body.items.map((item: { model_name: string }) => item.model_name)
    expect(names).toContain(answer.body.model_name)
    expect(answer.body.model_name.toLowerCase()).toBe(name.toLowerCase())
  },
)

test('POST /api/v1/model-deployments: an unknown model and an unknown variant have their own sentences', async () => {
  const [model, variant] = await Promise.all([
    create({ model_name: 'no-such-model' }),
    create({ model_name: 'berth-tiny', model_format: 'awq' }),
  ])
  expect(model.body.detail).toMatch(/^The catalog has no model called "no-such-model"/)
  expect(variant.body.detail).toMatch(
    /does not offer berth-tiny in the requested format, size and quantization\. It offers \d\S*B ggufv2 \(.+\)/,
  )
})

test('POST /api/v1/model-deployments: omitted fields are chosen to match the quantization', async () => {
  const answer = await create({ model_name: 'qwen2.5-instruct', quantization: 'Q6_K' })
  expect(answer.body).toMatchObject({
    model_format: 'ggufv2',
    model_size_in_billions: 0.5,
    quantization: 'Q6_K',
  })
})

test.each([
  [{ model_name: 'no-such-model' }],
  [{ model_name: 'berth-tiny', model_format: 'awq' }],
  [{ model_name: 'berth-tiny', model_size_in_billions: 7 }],
  [{ model_name: 'berth-tiny', quantization: 'Q4_K_M' }],
])('POST /api/v1/model-deployments: %j is not in the catalog: 422 model_not_deployable', async (body) => {
  const answer = await create(body)
  expect(answer.status).toBe(422)
  expect(answer.body).toMatchObject({ status: 422, code: 'model_not_deployable' })
})

test('POST /api/v1/model-deployments: a disabled model: 422 model_not_deployable', async () => {
  const { db } = server.application
  await db
    .updateTable('deployable_models')
    .set({ enabled: false })
    .where('id', '=', 'berth-tiny-embedding')
    .execute()
  const answer = await create({ model_name: 'berth-tiny-embedding' })
  expect(answer.status).toBe(422)
  expect(answer.body.code).toBe('model_not_deployable')
})

test.each([
  ['model_name', { model_name: '' }],
  ['model_name', { model_name: ' \t' }],
  ['model_name', {}],
  ['model_name', { model_name: 7 }],
  ['model_name', { model_name: 'a\0b' }],
  ['extra', { model_name: 'berth-tiny', extra: 1 }],
  ['status', { model_name: 'berth-tiny', status: 'running' }],
  ['model_format', { model_name: 'berth-tiny', model_format: '' }],
  ['quantization', { model_name: 'berth-tiny', quantization: ' ' }],
  ['model_size_in_billions', { model_name: 'berth-tiny', model_size_in_billions: 'big' }],
  ['model_size_in_billions', { model_name: 'berth-tiny', model_size_in_billions: '1,5' }],
  ['model_size_in_billions', { model_name: 'berth-tiny', model_size_in_billions: -1 }],
  ['model_size_in_billions', { model_name: 'berth-tiny', model_size_in_billions: true }],
  ['model_size_in_billions', '{"model_name":"berth-tiny","model_size_in_billions":1e400}'],
])('POST /api/v1/model-deployments: 422 names the field %s of %j', async (field, body) => {
  const before = (await client.get(path)).body.total
  const answer = await create(body)
  expect(answer.status).toBe(422)
  expect(answer.body).toMatchObject({ code: 'validation_failed', errors: [{ location: 'body', field }] })
  expect((await client.get(path)).body.total).toBe(before)
})

test('GET /api/v1/model-deployments: only one’s own, newest first, paginated by limit and offset', async () => {
  const reader = await registerClient(server.url)
  const empty = await reader.get(path)
  expect(empty.body).toEqual({ items: [], total: 0, limit: 100, offset: 0 })
  const ids: string[] = []
  for (let made = 0; made < 3; made += 1) ids.unshift((await create(undefined, reader)).body.id)
  const list = async (query: string) => {
    const { body } = await reader.get(path + query)
    return { ...body, items: body.items.map(({ id }: { id: string }) => id) }
  }
  expect(await list('')).toEqual({ items: ids, total: 3, limit: 100, offset: 0 })
  expect(await list('?limit=2')).toEqual({ items: ids.slice(0, 2), total: 3, limit: 2, offset: 0 })
  expect(await list('?limit=500&offset=2')).toEqual({ items: ids.slice(2), total: 3, limit: 500, offset: 2 })
  expect(await list('?offset=9')).toEqual({ items: [], total: 3, limit: 100, offset: 9 })
})

test('GET /api/v1/model-deployments?active=true: excludes terminated deployments', async () => {
  const reader = await registerClient(server.url)
  const ids: string[] = []
  for (let made = 0; made < 3; made += 1) ids.unshift((await create(undefined, reader)).body.id)
  await server.application.db
    .updateTable('deployments')
    .set({ status: 'terminated', terminated_at: new Date() })
    .where('id', '=', ids[1] ?? '')
    .execute()
  const list = async (query: string) => {
    const { body } = await reader.get(path + query)
    return { total: body.total, ids: body.items.map(({ id }: { id: string }) => id) }
  }
  expect(await list('?active=true')).toEqual({ total: 2, ids: [ids[0], ids[2]] })
  expect(await list('?active=true&limit=1&offset=1')).toEqual({ total: 2, ids: [ids[2]] })
  expect(await list('?active=false')).toEqual({ total: 3, ids })
})

test.each([
  'limit=0',
  'limit=501',
  'limit=-1',
  'limit=1.5',
  'limit=ten',
  'limit=',
  'active=maybe',
  'offset=-1',
  'offset=1e3',
])('GET /api/v1/model-deployments: %s: 422', async (query) => {
  const answer = await client.get(`${path}?${query}`)
  expect(answer.status).toBe(422)
  expect(answer.body).toMatchObject({ errors: [{ location: 'query', field: query.split('=')[0] }] })
})

test('GET /api/v1/model-deployments/{id}: returns the created deployment', async () => {
  const created = (await create()).body
  const answer = await client.get(`${path}/${created.id}`)
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual(created)
})

test('users of different organizations never see or terminate each other’s deployments', async () => {
  const stranger = await registerClient(server.url)
  const { id } = (await create()).body
  for (const suffix of ['', '/events', '/logs', '/usage']) {
    const answer = await stranger.get(`${path}/${id}${suffix}`)
    expect(answer.status).toBe(404)
    expect(answer.body.code).toBe('not_found')
  }
  expect((await stranger.delete(`${path}/${id}`)).status).toBe(404)
  expect((await stranger.get(path)).body.items).toEqual([])
  expect((await client.get(`${path}/${id}`)).body.status).toBe('requested')
})

test('users of the same organization never see or terminate each other’s deployments', async () => {
  const colleague = await registerClient(server.url)
  const { db } = server.application
  const mine = (await create()).body
  const { organization_id } = mine
  await db
    .updateTable('users')
    .set({ current_organization_id: Number(organization_id) })
    .where('email', '=', colleague.email)
    .execute()
  const user = await db
    .selectFrom('users')
    .select('id')
    .where('email', '=', colleague.email)
    .executeTakeFirstOrThrow()
  await db
    .insertInto('memberships')
    .values({ user_id: user.id, organization_id: Number(organization_id), role: 'member' })
    .execute()
  const theirs = (await create(undefined, colleague)).body
  expect(theirs.organization_id).toBe(organization_id)
  expect((await colleague.get(`${path}/${mine.id}`)).status).toBe(404)
  expect((await colleague.delete(`${path}/${mine.id}`)).status).toBe(404)
  // Admins see them in the organization's list only.
  expect((await client.get(path)).body.items).not.toContainEqual(theirs)
  expect((await colleague.get(path)).body.items).toEqual([theirs])
})

test.each([randomUUID(), 'dep-1', '%00', '1', "'--"])(
  'GET and DELETE /api/v1/model-deployments/%s: 404 for an unknown or invalid id',
  async (id) => {
    for (const method of ['GET', 'DELETE']) {
      const answer = await client.request(method, `${path}/${id}`)
      expect(answer.status).toBe(404)
      expect(answer.body.code).toBe('not_found')
    }
  },
)

test('every deployment route: 401 without a session', async () => {
  const anonymous = createClient(server.url)
  const id = randomUUID()
  const answers = await Promise.all([
    anonymous.get(path),
    anonymous.post(path, { model_name: 'berth-tiny' }),
    ...['', '/events', '/logs', '/usage'].map((suffix) => anonymous.get(`${path}/${id}${suffix}`)),
    anonymous.delete(`${path}/${id}`),
  ])
  expect(new Set(answers.map(({ status, body }) => `${status} ${body.code}`))).toEqual(
    new Set(['401 not_authenticated']),
  )
})

test('a viewer can read and end deployments, but only a member can create them', async () => {
  const person = await registerClient(server.url)
  const { id } = (await create(undefined, person)).body
  await setRole(server, person.email, 'viewer')
  expect((await person.get(path)).body.total).toBe(1)
  expect((await person.get(`${path}/${id}/events`)).status).toBe(200)
  // The role is checked before the body.
  expect(await create({}, person)).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  // Whoever pays must be able to stop.
  expect((await person.delete(`${path}/${id}`)).body.status).toBe('terminating')
  await setRole(server, person.email, 'member')
  expect((await create(undefined, person)).status).toBe(201)
})
