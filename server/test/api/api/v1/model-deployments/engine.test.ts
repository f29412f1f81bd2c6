import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { RuntimeEngine } from '../../../../../src/ports/runtime-engine.ts'
import { registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { engines } from '../../../../support/engines.ts'
import { waitForStatus } from '../../../../support/deployments.ts'
import { makeDue } from '../../../../support/reconcile.ts'
import { createScriptedRuntime, makeOffer } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'
const vllm: RuntimeEngine = { ...engines.vllm, formats: ['pytorch'], version: '0.27.1' }
const installed = [vllm, engines.llamaCpp]
const runtime = { ...createScriptedRuntime(), engines: installed }
const patience = { timeout: 30_000, interval: 50 }
const gpu = makeOffer('h100-x1', {
  gpuCount: 1,
  vendor: 'nvidia',
  computeCapability: 9,
  formats: ['pytorch', 'ggufv2'],
  memoryBytes: 70 * 2 ** 30,
})

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ worker: true, runtime, settings: { BILLING_TRIAL_MAX_ACTIVE: '20' } })
  client = await registerClient(server.url)
})
afterEach(() => {
  runtime.reset()
  installed.splice(0, 1, vllm)
})
afterAll(() => server.close())

const read = async (id: string) => (await client.get(`${path}/${id}`)).body

async function deploy(model: object): Promise<string> {
  runtime.answer({ listOffers: () => [gpu] })
  const created = await client.post(path, model)
  expect(created).toMatchObject({ status: 201, body: { engine: null } })
  await waitForStatus(client, created.body.id, 'running')
  return created.body.id
}

/** Makes the engine fail once and waits until it has been started again. */
async function crash(id: string): Promise<void> {
  const starts = () => runtime.specs.filter(({ deploymentId }) => deploymentId === id).length
  const before = starts()
  let hasCrashed = false
  runtime.answer({
    observeEngine: (each) => {
      if (hasCrashed || each !== id) return { phase: 'ready', endpoint: { baseUrl: 'http://127.0.0.1:9' } }
      hasCrashed = true
      return { phase: 'failed', stage: 'runtime', code: 'engine_crashed', message: 'The engine crashed.' }
    },
  })
  await makeDue(server, id)
  await vi.waitFor(async () => {
    expect(starts()).toBeGreaterThan(before)
    expect((await read(id)).status_message).toBeNull()
  }, patience)
}

test('GET …/{id}: engine is what started last, not what the operator has installed since', async () => {
  const id = await deploy({
    model_name: 'qwen2.5-instruct',
    model_format: 'pytorch',
    model_size_in_billions: 7,
  })
  expect((await read(id)).engine).toEqual({ name: 'vllm', version: '0.27.1', update: null })
  installed.splice(0, 1, { ...vllm, version: '0.28.0' })
  const observed = runtime.callsFor(id).length
  await makeDue(server, id)
  await vi.waitFor(() => expect(runtime.callsFor(id).slice(observed)).toContain('observeEngine'), patience)
  expect((await read(id)).engine).toEqual({ name: 'vllm', version: '0.27.1', update: null })
  await crash(id)
  expect((await read(id)).engine).toEqual({ name: 'vllm', version: '0.28.0', update: null })
})
