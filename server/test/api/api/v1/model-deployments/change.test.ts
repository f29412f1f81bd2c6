import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { EngineObservation, EngineSpec } from '../../../../../src/ports/model-runtime.ts'
import { registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { waitForStatus } from '../../../../support/deployments.ts'
import { makeDue } from '../../../../support/reconcile.ts'
import { crashOnce, createScriptedRuntime, makeOffer } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'
const runtime = createScriptedRuntime()
const model = { model_name: 'qwen2.5-instruct', model_format: 'pytorch', model_size_in_billions: 7 }
const patience = { timeout: 30_000, interval: 50 }
const starting: EngineObservation = { phase: 'starting', message: 'The engine is starting.' }

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({
    worker: true,
    runtime,
    settings: { BILLING_TRIAL_MAX_ACTIVE: '20', ENGINE_MAX_SEQUENCES: '100' },
  })
  client = await registerClient(server.url)
})
afterEach(() => runtime.reset())
afterAll(() => server.close())

function makeGpu(instanceType: string, gibibytes: number) {
  const facts = { gpuCount: 1, vendor: 'nvidia', computeCapability: 8.9, formats: ['pytorch'] } as const
  return makeOffer(instanceType, {
    ...facts,
    formats: ['pytorch'],
    memoryBytes: Math.floor(0.9 * gibibytes * 2 ** 30),
  })
}

const listOffers = () => [makeGpu('l4-x1', 22.5), makeGpu('h100-x1', 79.6)]

async function deploy(): Promise<string> {
  const created = await client.post(path, model)
  expect(created.status).toBe(201)
  return created.body.id
}

const change = (id: string, body: unknown) => client.request('PATCH', `${path}/${id}`, body)
const read = async (id: string) => (await client.get(`${path}/${id}`)).body

test('PATCH …/{id}: a deployment that does not serve yet moves to an instance with the minimum', async () => {
  runtime.answer({ listOffers, ensureEngine: () => starting })
  const id = await deploy()
  expect(await waitForStatus(client, id, 'deploying')).toMatchObject({
    selected_instance_type: 'l4-x1',
    context_tokens: 32_768,
    parallel_sequences: 8,
    min_context_tokens: null,
    min_parallel_sequences: null,
  })
  runtime.answer({ release: () => false })
  const changed = await change(id, { min_parallel_sequences: 16 })
  expect(changed.status).toBe(200)
  expect(changed.body).toMatchObject({ id, min_context_tokens: null, min_parallel_sequences: 16 })
  await vi.waitFor(async () => expect((await read(id)).waiting_for).toBe('release'), patience)
  runtime.answer({ release: () => true })
  await vi.waitFor(
    async () => expect(await read(id)).toMatchObject({ selected_instance_type: 'h100-x1' }),
    patience,
  )
  runtime.reset()
  expect(await waitForStatus(client, id, 'running')).toMatchObject({
    selected_instance_type: 'h100-x1',
    instance_id: `h100-x1-${id}`,
    context_tokens: 32_768,
    parallel_sequences: 100,
    waiting_for: null,
    status_message: null,
  })
  const { items } = (await client.get(`${path}/${id}/events`)).body
  const choices = items.map((event: { instance_type: string | null }) => event.instance_type).filter(Boolean)
  expect(choices).toEqual(['l4-x1', 'h100-x1'])
  expect(runtime.callsFor(id)).toContain('release')
  expect(runtime.specs.findLast(({ deploymentId }) => deploymentId === id)).toMatchObject({
    instanceType: 'h100-x1',
    parallelSequences: 100,
  })
})

test('PATCH …/{id}: a running deployment serves until a larger instance takes over', async () => {
  let mayStart = true
  runtime.answer({
    listOffers,
    ensureEngine: () =>
      mayStart ? { phase: 'ready', endpoint: { baseUrl: 'http://127.0.0.1:9' } } : starting,
  })
  const id = await deploy()
  await waitForStatus(client, id, 'running')
  mayStart = false
  const { body } = await change(id, { min_parallel_sequences: 16 })
  const before = {
    status: 'running',
    selected_instance_type: 'l4-x1',
    parallel_sequences: 8,
    min_parallel_sequences: 16,
    waiting_for: 'resize',
    status_message: expect.stringContaining('An instance with the changed settings starts'),
  }
  expect(body).toMatchObject(before)
  await vi.waitFor(async () => {
    const now = await read(id)
    expect(now).toMatchObject(before)
    expect(now.instances).toMatchObject([
      { status: 'running' },
      { status: 'starting', instance_type: 'h100-x1', started_at: expect.any(String) },
    ])
  }, patience)
  mayStart = true
  await vi.waitFor(
    async () =>
      expect(await read(id)).toMatchObject({
        status: 'running',
        selected_instance_type: 'h100-x1',
        parallel_sequences: 100,
        waiting_for: null,
        status_message: null,
        instances: [{ status: 'running' }],
      }),
    patience,
  )
  const messages = (await client.get(`${path}/${id}/events`)).body.items
  expect(messages.filter(({ status }: { status: string }) => status === 'running').length).toBeGreaterThan(1)
  expect(messages.slice(-1)).toMatchObject([{ status: 'running' }])
})

test('PATCH …/{id}: without room for a larger instance, a running deployment resizes when its engine starts next', async () => {
  let isFull = false
  const hardware = createScriptedRuntime()
  runtime.answer({
    listOffers,
    provision: (spec) =>
      isFull ? { outcome: 'refused', code: 'no_capacity', message: 'All taken.' } : hardware.provision(spec),
  })
  const id = await deploy()
  await waitForStatus(client, id, 'running')
  isFull = true
  await change(id, { min_parallel_sequences: 16 })
  await vi.waitFor(
    async () =>
      expect(await read(id)).toMatchObject({
        status: 'running',
        parallel_sequences: 8,
        waiting_for: 'resize',
        status_message: expect.stringMatching(/All taken\. .*when the engine starts next/),
        instances: [{ status: 'running' }],
      }),
    patience,
  )
  isFull = false
  const before = runtime.callsFor(id).length
  await makeDue(server, id)
  await vi.waitFor(() => expect(runtime.callsFor(id).slice(before)).toContain('observeEngine'), patience)
  expect(runtime.callsFor(id).slice(before)).not.toContain('provision')
  runtime.answer({ observeEngine: crashOnce(id) })
  await makeDue(server, id)
  await vi.waitFor(
    async () =>
      expect(await read(id)).toMatchObject({
        status: 'running',
        selected_instance_type: 'h100-x1',
        parallel_sequences: 100,
        waiting_for: null,
        status_message: null,
      }),
    patience,
  )
  const { db } = server.application
  const spans = await db
    .selectFrom('instance_spans')
    .selectAll()
    .where('deployment_id', '=', id)
    .orderBy('id')
    .execute()
  expect(spans.map(({ instance_type, ended_at }) => [instance_type, ended_at === null])).toEqual([
    ['l4-x1', false],
    ['h100-x1', true],
  ])
})

test('PATCH …/{id}: a minimum with which no engine starts is taken back, also after a crash', async () => {
  const isSmall = ({ parallelSequences }: EngineSpec) => parallelSequences <= 8
  const failed = {
    phase: 'failed',
    stage: 'engine_startup',
    code: 'out_of_memory',
    message: 'Too little memory.',
  } as const
  const ready = { phase: 'ready', endpoint: { baseUrl: 'http://127.0.0.1:9' } } as const
  const hardware = createScriptedRuntime()
  let isFull = false
  runtime.answer({
    listOffers,
    ensureEngine: (spec) => (isSmall(spec) ? ready : failed),
    provision: (spec) =>
      isFull ? { outcome: 'refused', code: 'no_capacity', message: 'All taken.' } : hardware.provision(spec),
  })
  const id = await deploy()
  await waitForStatus(client, id, 'running')
  await change(id, { min_parallel_sequences: 16 })
  const reverted = {
    status: 'running',
    min_parallel_sequences: null,
    parallel_sequences: 8,
    waiting_for: null,
  }
  await vi.waitFor(async () => expect(await read(id)).toMatchObject(reverted), patience)

  // Without room for another instance, the change waits for the next start, which fails.
  isFull = true
  await change(id, { min_parallel_sequences: 16 })
  await vi.waitFor(async () => expect((await read(id)).status_message).toMatch(/All taken/), patience)
  isFull = false
  runtime.answer({ observeEngine: crashOnce(id) })
  await makeDue(server, id)
  await vi.waitFor(async () => expect(await read(id)).toMatchObject(reverted), patience)
})

test('PATCH …/{id}: a minimum for which there is no hardware is taken back if the present engine crashes', async () => {
  const hardware = createScriptedRuntime()
  runtime.answer({
    listOffers,
    provision: (spec) =>
      spec.parallelSequences > 8
        ? { outcome: 'refused', code: 'no_capacity', message: 'All taken.' }
        : hardware.provision(spec),
  })
  const id = await deploy()
  await waitForStatus(client, id, 'running')
  await change(id, { min_parallel_sequences: 16 })
  await vi.waitFor(async () => expect((await read(id)).status_message).toMatch(/All taken/), patience)
  runtime.answer({ observeEngine: crashOnce(id) })
  await makeDue(server, id)
  const reverted = {
    status: 'running',
    min_parallel_sequences: null,
    parallel_sequences: 8,
    waiting_for: null,
  }
  await vi.waitFor(async () => expect(await read(id)).toMatchObject(reverted), patience)
})

test('PATCH …/{id}: a minimum that the engine meets already, or none, needs no new engine', async () => {
  runtime.answer({ listOffers })
  const id = await deploy()
  await waitForStatus(client, id, 'running')
  const met = await change(id, { min_context_tokens: 32_768, min_parallel_sequences: 8 })
  expect(met.body).toMatchObject({
    min_context_tokens: 32_768,
    min_parallel_sequences: 8,
    status_message: null,
  })
  expect((await read(id)).updated_at).toBe(met.body.updated_at)
  const same = await change(id, { min_context_tokens: 32_768 })
  expect(same.body, 'a PATCH that changes nothing').toEqual(met.body)
  runtime.answer({ ensureEngine: () => starting })
  expect((await change(id, { min_parallel_sequences: 16 })).body.waiting_for).toBe('resize')
  expect((await change(id, { min_parallel_sequences: null })).body).toMatchObject({
    min_context_tokens: 32_768,
    min_parallel_sequences: null,
    waiting_for: null,
    status_message: null,
  })
  await vi.waitFor(async () => expect((await read(id)).instances).toHaveLength(1), patience)
  expect(await read(id)).toMatchObject({ status: 'running', selected_instance_type: 'l4-x1' })
})

test('PATCH …/{id}: a minimum that no instance type meets is a 409 and changes nothing', async () => {
  runtime.answer({ listOffers })
  const id = await deploy()
  await waitForStatus(client, id, 'running')
  for (const body of [{ min_context_tokens: 40_000 }, { min_parallel_sequences: 101 }]) {
    const answer = await change(id, body)
    expect(answer.status).toBe(409)
    expect(answer.body.code).toBe('no_feasible_instance')
  }
  expect(await read(id)).toMatchObject({ min_context_tokens: null, min_parallel_sequences: null })
})

test.each([{ min_context_tokens: 0 }, { min_context_tokens: '8' }, { min_parallel_sequences: 1.5 }, null])(
  'PATCH …/{id}: %j is a 422',
  async (body) => {
    runtime.answer({ listOffers })
    const id = await deploy()
    expect((await change(id, body)).status).toBe(422)
  },
)

test('PATCH …/{id}: a deployment that ended is a 409, an unknown one a 404', async () => {
  runtime.answer({ listOffers })
  const id = await deploy()
  await client.delete(`${path}/${id}`)
  await waitForStatus(client, id, 'terminated')
  const answer = await change(id, { min_context_tokens: 1024 })
  expect([answer.status, answer.body.code]).toEqual([409, 'deployment_ended'])
  expect((await change('01a202f3-550d-7017-8411-6cd4808b8470', {})).status).toBe(404)
})
