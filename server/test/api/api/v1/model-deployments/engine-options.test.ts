import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { EngineSpec } from '../../../../../src/ports/model-runtime.ts'
import { registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { waitForStatus } from '../../../../support/deployments.ts'
import { joinClient } from '../../../../support/organizations.ts'
import { makeDue } from '../../../../support/reconcile.ts'
import { crashOnce, createScriptedRuntime, makeOffer } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'
const runtime = createScriptedRuntime()
const model = { model_name: 'qwen2.5-instruct', model_format: 'pytorch', model_size_in_billions: 7 }
const patience = { timeout: 30_000, interval: 50 }
const options = { 'kv-cache-dtype': 'fp8', 'max-num-batched-tokens': 4096 }
const ready = { phase: 'ready', endpoint: { baseUrl: 'http://127.0.0.1:9' } } as const

let server: TestServer
let admin: Client
let member: Client
beforeAll(async () => {
  server = await startTestServer({
    worker: true,
    runtime,
    settings: { BILLING_TRIAL_MAX_ACTIVE: '20' },
  })
  admin = await registerClient(server.url)
  member = await joinClient(server, admin, 'member')
})
afterEach(() => runtime.reset())
afterAll(() => server.close())

const gpu = makeOffer('l4-x1', {
  gpuCount: 1,
  vendor: 'nvidia',
  computeCapability: 8.9,
  formats: ['pytorch', 'ggufv2'],
  memoryBytes: Math.floor(20 * 2 ** 30),
})
const listOffers = () => [gpu]

async function deploy(client: Client, more: object = {}): Promise<string> {
  const created = await client.post(path, { ...model, ...more })
  expect(created.status).toBe(201)
  await waitForStatus(client, created.body.id, 'running')
  return created.body.id
}

const read = async (id: string) => (await admin.get(`${path}/${id}?scope=organization`)).body
const specsOf = (id: string) => runtime.specs.filter(({ deploymentId }) => deploymentId === id)

async function listAudit(id: string) {
  const { items } = (await admin.get('/v1/organization/audit-log?limit=100')).body
  return items.filter(({ target }: { target: { id: string } | null }) => target?.id === id)
}

test('the engine starts with the options of the request; the audit log has them', async () => {
  runtime.answer({ listOffers })
  const id = await deploy(admin, { engine_options: options })
  expect((await read(id)).engine_options).toEqual(options)
  expect(specsOf(id).at(-1)).toMatchObject({ engineOptions: options })
  expect(await listAudit(id)).toMatchObject([
    { action: 'deployment.created', details: { engine_options: options } },
  ])
})

test('a change starts an engine with the options beside the present one, which then drains', async () => {
  let mayStart = true
  runtime.answer({
    listOffers,
    ensureEngine: () => (mayStart ? ready : { phase: 'starting', message: 'The engine is starting.' }),
  })
  const id = await deploy(admin)
  mayStart = false
  const changed = await admin.patch(`${path}/${id}`, { engine_options: options })
  expect(changed.body).toMatchObject({ status: 'running', engine_options: options, waiting_for: 'resize' })
  await vi.waitFor(
    async () =>
      expect((await read(id)).instances).toMatchObject([{ status: 'running' }, { status: 'starting' }]),
    patience,
  )
  mayStart = true
  await vi.waitFor(
    async () =>
      expect(await read(id)).toMatchObject({
        waiting_for: null,
        status_message: null,
        instances: [{ status: 'running' }],
      }),
    patience,
  )
  const specs = specsOf(id)
  expect(specs.at(-1)).toMatchObject({ engineOptions: options })
  expect(new Set(specs.map(({ engineId }) => engineId)).size).toBe(2)
  const before = runtime.specs.length
  expect((await admin.patch(`${path}/${id}`, { engine_options: options })).status).toBe(200)
  expect(runtime.specs.length).toBe(before)
  const [entry] = await listAudit(id)
  expect(entry).toMatchObject({
    action: 'deployment.updated',
    details: { engine_options: { from: {}, to: options } },
  })
  expect((await admin.patch(`${path}/${id}`, { engine_options: {} })).body.engine_options).toEqual({})
  await vi.waitFor(() => expect(specsOf(id).at(-1)).toMatchObject({ engineOptions: {} }), patience)
})

test('options with which no engine starts are taken back, and an event has the words of the engine', async () => {
  const message = 'The engine does not support this. Engine log: error: unrecognized arguments: --x'
  const hasOptions = ({ engineOptions = {} }: EngineSpec) => Object.keys(engineOptions).length > 0
  runtime.answer({
    listOffers,
    ensureEngine: (spec) =>
      hasOptions(spec) ? { phase: 'failed', stage: 'model_launch', code: 'launch_rejected', message } : ready,
  })
  const id = await deploy(admin)
  await admin.patch(`${path}/${id}`, { engine_options: options })
  await vi.waitFor(
    async () =>
      expect(await read(id)).toMatchObject({
        status: 'running',
        engine_options: {},
        waiting_for: null,
        instances: [{ status: 'running' }],
      }),
    patience,
  )
  const { items } = (await admin.get(`${path}/${id}/events`)).body
  expect(items.map((event: { message: string }) => event.message).join('\n')).toContain(message)
  const failed = await admin.post(path, { ...model, engine_options: options })
  expect(await waitForStatus(admin, failed.body.id, 'failed')).toMatchObject({
    failure_reason: `launch_rejected: ${message}`,
  })
})

test('without room for both, the options are used when the engine starts next', async () => {
  let isFull = false
  const hardware = createScriptedRuntime()
  runtime.answer({
    listOffers,
    provision: (spec) =>
      isFull ? { outcome: 'refused', code: 'no_capacity', message: 'All taken.' } : hardware.provision(spec),
  })
  const id = await deploy(admin)
  isFull = true
  await admin.patch(`${path}/${id}`, { engine_options: options })
  await vi.waitFor(
    async () => expect((await read(id)).status_message).toMatch(/All taken\. .*when the engine starts next/),
    patience,
  )
  isFull = false
  runtime.answer({ observeEngine: crashOnce(id) })
  await makeDue(server, id)
  await vi.waitFor(async () => {
    expect(await read(id)).toMatchObject({ status: 'running', waiting_for: null, status_message: null })
    expect(specsOf(id).at(-1)).toMatchObject({ engineOptions: options })
  }, patience)
})

test('members get a 403 that says who may set options, at their own deployments too; unchanged options are none', async () => {
  runtime.answer({ listOffers })
  const refusal = {
    status: 403,
    body: { code: 'forbidden', detail: 'Only admins of the organization may set engine options.' },
  }
  expect(await member.post(path, { ...model, engine_options: options })).toMatchObject(refusal)
  const id = await deploy(member)
  expect(await member.patch(`${path}/${id}`, { engine_options: options })).toMatchObject(refusal)
  expect(await member.patch(`${path}/${id}`, { engine_options: {} })).toMatchObject({ status: 200 })
  const team = `${path}/${id}?scope=organization`
  expect(await admin.patch(team, { engine_options: options })).toMatchObject({
    status: 200,
    body: { engine_options: options },
  })
  expect(await member.patch(`${path}/${id}`, { alias: 'mine', engine_options: options })).toMatchObject({
    status: 200,
    body: { alias: 'mine', engine_options: options },
  })
  expect(await member.patch(`${path}/${id}`, { engine_options: {} })).toMatchObject(refusal)
  expect(await listAudit(id)).toContainEqual(
    expect.objectContaining({ action: 'permission.refused', result: 'refused' }),
  )
})

test('what an engine does not take is a 422 that names the field, at create, plan and change', async () => {
  runtime.answer({ listOffers })
  const id = await deploy(admin)
  for (const refused of [
    { 'trust-remote-code': true },
    { trust_remote_code: true },
    { port: 1 },
    { 'kv-cache-dtype': '--port' },
    { 'kv-cache-dtype': null },
    { 'kv-cache-dtype': ['fp8'] },
    { '--seed': 1 },
    { '': 1 },
    Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`seed${index}`, 1])),
    { 'kv-cache-dtype': 'x'.repeat(2_001) },
    'seed=1',
    null,
  ]) {
    const body = { engine_options: refused }
    const answers = [
      await admin.post(path, { ...model, ...body }),
      await admin.post(`${path}/plan`, { ...model, ...body }),
      await admin.patch(`${path}/${id}`, body),
    ]
    for (const answer of answers) {
      expect(answer, JSON.stringify(refused)).toMatchObject({
        status: 422,
        body: { code: 'validation_failed' },
      })
      expect(answer.body.errors[0].field).toMatch(/^engine_options/)
    }
  }
  const none = await admin.post(path, { model_name: 'berth-tiny', engine_options: { threads: 2 } })
  expect(none).toMatchObject({ status: 422, body: { detail: expect.stringContaining('takes no options') } })
  expect(await read(id)).toMatchObject({ engine_options: {}, waiting_for: null })
})

test('POST …/plan: command has the command line, without addresses; null for engines without options', async () => {
  runtime.answer({ listOffers })
  const described: object[] = []
  runtime.describeCommand = async (engine) => {
    described.push(engine)
    return ['vllm', 'serve']
  }
  const plan = await admin.post(`${path}/plan`, { ...model, engine_options: options })
  expect(plan.body.command).toEqual(['vllm', 'serve'])
  expect(described).toMatchObject([{ engineOptions: options, instanceType: 'l4-x1', gpuCount: 1 }])
  delete runtime.describeCommand
  expect((await admin.post(`${path}/plan`, model)).body.command).toBeNull()
})
