import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { EngineFailure } from '../../../../../src/ports/engine-failures.ts'
import type { RuntimeEngine } from '../../../../../src/ports/runtime-engine.ts'
import { registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { engines } from '../../../../support/engines.ts'
import { waitForStatus } from '../../../../support/deployments.ts'
import { makeDue } from '../../../../support/reconcile.ts'
import { crashOnce, createScriptedRuntime, makeOffer } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'
const model = { model_name: 'qwen2.5-instruct', model_format: 'pytorch', model_size_in_billions: 7 }
const [old, newer, newest] = ['0.31.0', '0.32.0', '0.33.0']
const patience = { timeout: 30_000, interval: 50 }
const ready = { phase: 'ready', endpoint: { baseUrl: 'http://127.0.0.1:9' } } as const
const broken: EngineFailure & { phase: 'failed' } = {
  phase: 'failed',
  stage: 'model_launch',
  code: 'launch_rejected',
  message: 'The engine does not support this. Engine log: ImportError',
}
const withVersions = (...versions: string[]): RuntimeEngine => ({
  ...engines.vllm,
  formats: ['pytorch'],
  version: versions[0]!,
  versions,
})

/** What the runtime has, which a test extends as an installation does */
const installed: RuntimeEngine[] = [engines.embedded, withVersions(old)]
const runtime = { ...createScriptedRuntime(), engines: installed }
const install = (...versions: string[]) => installed.splice(1, 1, withVersions(...versions))
const gpu = makeOffer('h100-x1', {
  gpuCount: 1,
  vendor: 'nvidia',
  computeCapability: 9,
  formats: ['pytorch', 'ggufv2'],
  memoryBytes: 70 * 2 ** 30,
})
const listOffers = () => [gpu]

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ worker: true, runtime, settings: { BILLING_TRIAL_MAX_ACTIVE: '20' } })
  client = await registerClient(server.url)
})
afterEach(() => {
  runtime.reset()
  install(old)
})
afterAll(() => server.close())

const read = async (id: string) => (await client.get(`${path}/${id}`)).body
const update = (id: string, version: string | null) =>
  client.patch(`${path}/${id}`, { engine_version: version })
const versionsOf = (id: string) => [
  ...new Set(runtime.specs.filter((each) => each.deploymentId === id).map((each) => each.engineVersion)),
]
const readEvents = async (id: string) =>
  (await client.get(`${path}/${id}/events`)).body.items.map((event: { message: string }) => event.message)

async function deploy(): Promise<string> {
  const created = await client.post(path, model)
  expect(created.status).toBe(201)
  await waitForStatus(client, created.body.id, 'running')
  return created.body.id
}

/** Makes the engine of a deployment fail once. */
async function crash(id: string): Promise<void> {
  const observeEngine = vi.fn(crashOnce(id))
  runtime.answer({ observeEngine })
  await makeDue(server, id)
  await vi.waitFor(() => expect(observeEngine.mock.calls.map(([each]) => each)).toContain(id), patience)
}

test('a deployment that runs keeps its version after a newer one was installed, which new starts take', async () => {
  runtime.answer({ listOffers })
  const id = await deploy()
  expect(await read(id)).toMatchObject({
    engine: { name: 'vllm', version: old, update: null },
    engine_version: null,
    instances: [{ engine: { name: 'vllm', version: old } }],
  })
  install(newer, old)
  expect(await read(id)).toMatchObject({ engine: { version: old, update: newer }, waiting_for: null })
  await crash(id)
  await vi.waitFor(
    async () => expect(await read(id)).toMatchObject({ status: 'running', status_message: null }),
    patience,
  )
  expect(await read(id)).toMatchObject({ engine: { version: old } })
  expect(versionsOf(id)).toEqual([old])
  const other = await deploy()
  expect(await read(other)).toMatchObject({ engine: { version: newer, update: null } })
  await client.post(`${path}/${id}/sleep`)
  await waitForStatus(client, id, 'sleeping')
  await client.post(`${path}/${id}/wake`)
  expect(await waitForStatus(client, id, 'running')).toMatchObject({ engine: { version: newer } })
})

test('an update starts an instance with the version beside the old one, moves, and drains the old one', async () => {
  install(newer, old)
  let mayStart = true
  runtime.answer({
    listOffers,
    ensureEngine: () => (mayStart ? ready : { phase: 'starting', message: 'The engine is starting.' }),
  })
  const id = await deploy()
  mayStart = false
  install(newest, newer, old)
  expect((await update(id, newest)).body).toMatchObject({
    status: 'running',
    engine_version: newest,
    waiting_for: 'resize',
  })
  await vi.waitFor(
    async () =>
      expect((await read(id)).instances).toMatchObject([
        { status: 'running', engine: { version: newer } },
        { status: 'starting', engine: null },
      ]),
    patience,
  )
  mayStart = true
  await vi.waitFor(
    async () =>
      expect(await read(id)).toMatchObject({
        status: 'running',
        engine: { version: newest, update: null },
        waiting_for: null,
        instances: [{ status: 'running', engine: { version: newest } }],
      }),
    patience,
  )
  expect(versionsOf(id)).toEqual([newer, newest])
  const { items } = (await client.get('/v1/organization/audit-log?limit=100')).body
  expect(items.find((each: { target: { id: string } | null }) => each.target?.id === id)).toMatchObject({
    action: 'deployment.updated',
    details: { engine_version: { from: null, to: newest } },
  })
})

test('a version whose instance fails is not tried again by itself, and the old one serves on', async () => {
  runtime.answer({
    listOffers,
    ensureEngine: ({ engineVersion }) => (engineVersion === newer ? broken : ready),
  })
  const id = await deploy()
  install(newer, old)
  await update(id, newer)
  const onOld = {
    status: 'running',
    engine: { version: old, update: newer },
    engine_version: old,
    waiting_for: null,
    instances: [{ status: 'running' }],
  }
  await vi.waitFor(async () => expect(await read(id)).toMatchObject(onOld), patience)
  expect((await readEvents(id)).join('\n')).toContain('ImportError')
  const tried = () => runtime.specs.filter((each) => each.engineVersion === newer).length
  const before = tried()
  await client.post(`${path}/${id}/sleep`)
  await waitForStatus(client, id, 'sleeping')
  await client.post(`${path}/${id}/wake`)
  expect(await waitForStatus(client, id, 'running')).toMatchObject({ engine: { version: old } })
  expect(tried()).toBe(before)
  expect((await update(id, newer)).body).toMatchObject({ engine_version: newer, waiting_for: 'resize' })
  await vi.waitFor(async () => expect(await read(id)).toMatchObject(onOld), patience)
  expect(tried()).toBeGreaterThan(before)
})

test('a wake with a new version that fails goes back to the version that served', async () => {
  runtime.answer({
    listOffers,
    ensureEngine: ({ engineVersion }) => (engineVersion === newer ? broken : ready),
  })
  const id = await deploy()
  await client.post(`${path}/${id}/sleep`)
  await waitForStatus(client, id, 'sleeping')
  install(newer, old)
  await client.post(`${path}/${id}/wake`)
  expect(await waitForStatus(client, id, 'running')).toMatchObject({
    engine: { version: old, update: newer },
    engine_version: old,
  })
  expect(versionsOf(id)).toEqual([old, newer])
})

test('without room for both, the version changes when the engine starts next', async () => {
  let isFull = false
  const hardware = createScriptedRuntime()
  runtime.answer({
    listOffers,
    provision: (spec) =>
      isFull ? { outcome: 'refused', code: 'no_capacity', message: 'All taken.' } : hardware.provision(spec),
  })
  const id = await deploy()
  install(newer, old)
  isFull = true
  await update(id, newer)
  await vi.waitFor(
    async () => expect((await read(id)).status_message).toMatch(/All taken\. .*when the engine starts next/),
    patience,
  )
  expect(await read(id)).toMatchObject({ status: 'running', engine: { version: old } })
  isFull = false
  await crash(id)
  await vi.waitFor(
    async () =>
      expect(await read(id)).toMatchObject({
        status: 'running',
        engine: { version: newer, update: null },
        waiting_for: null,
      }),
    patience,
  )
})

test('a version that is not installed, or an engine without versions, is a 422; null ends the choice', async () => {
  runtime.answer({ listOffers })
  const id = await deploy()
  expect(await update(id, '9.9.9')).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining(`9.9.9 is not installed. The versions are ${old}.`) },
  })
  for (const body of [{ engine_version: 1 }, { engine_version: '' }, { engine_version: 'x'.repeat(65) }]) {
    expect((await client.patch(`${path}/${id}`, body)).status).toBe(422)
  }
  expect((await update(id, old)).body).toMatchObject({ engine_version: old, waiting_for: null })
  expect((await update(id, null)).body).toMatchObject({ engine_version: null, waiting_for: null })
  const tiny = await client.post(path, { model_name: 'berth-tiny' })
  expect(await update(tiny.body.id, '1')).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining('has no versions to choose from') },
  })
})
