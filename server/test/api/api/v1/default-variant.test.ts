import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { waitForStatus } from '../../../support/deployments.ts'
import { createScriptedRuntime, makeOffer } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/api/v1/model-deployments'
const runtime = createScriptedRuntime()

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ runtime })
  client = await registerClient(server.url)
})
afterEach(() => runtime.reset())
afterAll(() => server.close())

function makeH100(instanceType: string, gpuCount: number) {
  const formats = ['ggufv2', 'pytorch', 'awq', 'fp8']
  const memoryBytes = Math.floor(0.9 * gpuCount * 79.6 * 2 ** 30)
  return makeOffer(instanceType, { gpuCount, vendor: 'nvidia', computeCapability: 9, formats, memoryBytes })
}

const onGpus = { listOffers: () => [makeH100('h100-x2', 2), makeH100('h100-x1', 1)] }
const unreachable = {
  listOffers: () => {
    throw new Error('connect ECONNREFUSED')
  },
}

const toVariant = ({ model_format, model_size_in_billions, quantization }: Record<string, unknown>) => ({
  model_format,
  model_size_in_billions,
  quantization,
})

async function readDefault(): Promise<unknown> {
  const { items } = (await client.get('/api/v1/deployable-models')).body
  const listed = items.find(({ model_name }: { model_name: string }) => model_name === 'qwen3')
  expect((await client.get(`/api/v1/deployable-models/${listed.id}`)).body).toEqual(listed)
  const rows = listed.variants.filter((variant: { default: boolean }) => variant.default)
  expect(rows).toHaveLength(1)
  expect(rows[0]).toMatchObject({ model_format: listed.default_variant.model_format })
  return listed.default_variant
}

test('only a name, on GPUs: create, plan and catalog agree on the largest size for vLLM, and the reason says so', async () => {
  runtime.answer(onGpus)
  const body = { model_name: 'qwen3' }
  const plan = (await client.post(`${path}/plan`, body)).body
  const expected = { model_format: 'fp8', model_size_in_billions: 32, quantization: 'fp8' }
  expect(toVariant(plan)).toEqual(expected)
  expect(plan).toMatchObject({ instance_type: 'h100-x1', gpu_count: 1 })
  expect(plan.reason).toMatch(
    /^Berth chose 32B FP8, the largest size that vLLM can serve on h100-x1\. Needs at least .+ h100-x1 provides .+ cheapest of 2/,
  )
  expect(await readDefault()).toEqual(expected)
  const created = await client.post(path, body)
  expect(created.status).toBe(201)
  expect(toVariant(created.body)).toEqual(expected)
  const running = await waitForStatus(client, created.body.id, 'running')
  expect(running).toMatchObject({ selected_instance_type: 'h100-x1', selection_reason: plan.reason })
})

test('a size, on GPUs: the best format for vLLM', async () => {
  runtime.answer(onGpus)
  const created = await client.post(path, { model_name: 'qwen3', model_size_in_billions: 8 })
  expect(toVariant(created.body)).toEqual({
    model_format: 'fp8',
    model_size_in_billions: 8,
    quantization: 'fp8',
  })
})

test('only a name, on a CPU: the default of the catalog, without a word about it', async () => {
  runtime.answer({ listOffers: () => [makeOffer('small')] })
  const plan = (await client.post(`${path}/plan`, { model_name: 'qwen3' })).body
  expect(plan.model_format).toBe('ggufv2')
  expect(plan.reason).toMatch(/^Needs at least/)
  expect(await readDefault()).toEqual(toVariant(plan))
  const created = await client.post(path, { model_name: 'qwen3' })
  expect(toVariant(created.body)).toEqual(toVariant(plan))
})

test('while the runtime does not respond, only a request that leaves nothing to choose is accepted', async () => {
  runtime.answer(unreachable)
  const open = await client.post(path, { model_name: 'qwen3' })
  expect(open.status).toBe(503)
  expect(open.body.code).toBe('runtime_unavailable')
  expect(open.headers.get('retry-after')).toBe('5')
  const exact = { model_format: 'ggufv2', model_size_in_billions: 0.6, quantization: 'Q8_0' }
  const created = await client.post(path, { model_name: 'qwen3', ...exact })
  expect(created.status).toBe(201)
  expect(toVariant(created.body)).toEqual(exact)
  expect(await readDefault()).toMatchObject({ model_format: 'ggufv2' })
})

test('a variant that the runtime cannot load: infeasible in the plan and a 422, and the default is another one', async () => {
  runtime.answer({
    ...onGpus,
    readAvailability:
      () =>
      ({ modelName, format, sizeInBillions }) =>
        modelName !== 'qwen3' || (format === 'pytorch' && sizeInBillions === 8)
          ? null
          : 'The list has it not',
  })
  const plan = (await client.post(`${path}/plan`, { model_name: 'qwen3' })).body
  expect(toVariant(plan)).toEqual({
    model_format: 'pytorch',
    model_size_in_billions: 8,
    quantization: 'none',
  })
  expect(await readDefault()).toEqual(toVariant(plan))
  const absent = { model_name: 'qwen3', model_format: 'fp8', model_size_in_billions: 8 }
  const refused = await client.post(`${path}/plan`, absent)
  expect(refused.body).toMatchObject({
    feasible: false,
    reason: expect.stringContaining('The list has it not'),
  })
  const answer = await client.post(path, absent)
  expect(answer.status).toBe(422)
  expect(answer.body).toMatchObject({ code: 'model_not_deployable', detail: refused.body.reason })
})
