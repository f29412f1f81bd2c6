import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createClient, registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { waitForStatus } from '../../../../support/deployments.ts'
import { setRole } from '../../../../support/roles.ts'
import { createScriptedRuntime, makeOffer } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments/plan'
const runtime = createScriptedRuntime()
const GiB = 2 ** 30

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ worker: false, runtime, settings: { BILLING_TRIAL: 'off' } })
  client = await registerClient(server.url)
})
afterEach(() => runtime.reset())
afterAll(() => server.close())

/** GPU offers with names that have prices in the shipped instance type file. */
function makeGpu(instanceType: string, gpuCount: number, gibibytes: number, computeCapability = 8.9) {
  const formats = ['ggufv2', 'pytorch', 'awq', 'fp8']
  const memoryBytes = Math.floor(0.9 * gpuCount * gibibytes * GiB)
  return makeOffer(instanceType, { gpuCount, vendor: 'nvidia', computeCapability, formats, memoryBytes })
}

async function countDeployments(): Promise<number> {
  const rows = await server.application.db.selectFrom('deployments').select('id').execute()
  return rows.length
}

test('POST …/plan: the choice, its price and every offer; creates nothing and ignores billing', async () => {
  runtime.answer({
    listOffers: () => [
      makeGpu('l40s-x1', 1, 45),
      makeGpu('l4-x2', 2, 22.5),
      makeGpu('l4-x1', 1, 22.5),
      makeGpu('t4-x1', 1, 15, 7.5),
    ],
  })
  const body = { model_name: 'qwen2.5-instruct', model_format: 'pytorch', model_size_in_billions: 14 }
  const answer = await client.post(path, body)
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    model_format: 'pytorch',
    model_size_in_billions: 14,
    quantization: 'none',
    feasible: true,
    obstacle: null,
    weight_bytes: expect.any(Number),
    start_seconds: null,
    instance_type: 'l4-x2',
    gpu_count: 2,
    region: 'test-region',
    price_per_hour: '1.6',
    currency: 'usd',
    token_prices: null,
    memory_bytes: expect.closeTo(37.9 * GiB, -8),
    context_tokens: 32_768,
    parallel_sequences: 5,
    context_limited_by: 'model',
    sequences_limited_by: 'memory',
    cheaper: null,
    larger: {
      instance_type: 'l40s-x1',
      gpu_count: 1,
      price_per_hour: '1.86',
      context_tokens: 32_768,
      parallel_sequences: 6,
    },
    reason: expect.stringMatching(
      /^Needs at least .+ GiB \(weights .+ \+ KV cache .+ for 4 × 8192 tokens \+ overhead .+\)\. l4-x2 provides 40\.5 GiB and is the cheapest of 2 instance types that fit\. It serves requests of up to 32768 tokens \(the context of the model\), 5 at a time \(as its memory allows\)\. Ruled out: t4-x1 \(13\.5 GiB\), l4-x1 \(20\.3 GiB\): .+ needed\.$/,
    ),
    command: null,
    considered: [
      {
        instance_type: 'l4-x2',
        fits: true,
        reason: expect.stringContaining('40.5 GiB'),
        price_per_hour: '1.6',
      },
      {
        instance_type: 'l40s-x1',
        fits: true,
        reason: expect.stringContaining('40.5 GiB'),
        price_per_hour: '1.86',
      },
      {
        instance_type: 't4-x1',
        fits: false,
        reason: expect.stringContaining('needed'),
        price_per_hour: '0.53',
      },
      {
        instance_type: 'l4-x1',
        fits: false,
        reason: expect.stringContaining('needed'),
        price_per_hour: '0.8',
      },
    ],
  })
  expect(await countDeployments()).toBe(0)
})

test('POST …/plan: the reason names the limitations of an older GPU', async () => {
  runtime.answer({ listOffers: () => [makeGpu('t4-x1', 1, 15, 7.5)] })
  const ask = async (model_format: string) =>
    (await client.post(path, { model_name: 'qwen2.5-instruct', model_size_in_billions: 0.5, model_format }))
      .body
  expect((await ask('pytorch')).reason).toMatch(
    /the only instance type that fits\. It serves .+\. On its GPUs, bf16 runs as fp16\.$/,
  )
  expect((await ask('awq')).reason).toContain('the only instance type that fits.')
})

test('POST …/plan: an infeasible variant is a 200 with nulls and the reasons', async () => {
  runtime.answer({
    listOffers: () => [makeOffer('cpu'), makeGpu('l4-x1', 1, 22.5), makeGpu('l4-x4', 4, 22.5)],
  })
  const answer = await client.post(path, {
    model_name: 'qwen2.5-instruct',
    model_size_in_billions: 72,
    model_format: 'pytorch',
  })
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    model_format: 'pytorch',
    model_size_in_billions: 72,
    quantization: 'none',
    feasible: false,
    obstacle: 'memory',
    weight_bytes: null,
    start_seconds: null,
    instance_type: null,
    gpu_count: null,
    region: null,
    price_per_hour: null,
    currency: 'usd',
    token_prices: null,
    memory_bytes: expect.closeTo(153.7 * GiB, -8),
    context_tokens: null,
    parallel_sequences: null,
    context_limited_by: null,
    sequences_limited_by: null,
    cheaper: null,
    larger: null,
    reason: expect.stringMatching(
      /^No instance type can run this model\. It needs at least .+\. Ruled out: .*cpu: runs GGUF models, not PyTorch/,
    ),
    command: null,
    considered: [
      expect.objectContaining({ instance_type: 'l4-x1', fits: false }),
      expect.objectContaining({ instance_type: 'l4-x4', fits: false }),
      expect.objectContaining({ instance_type: 'cpu', fits: false, price_per_hour: '3.6' }),
    ],
  })
})

test('POST …/plan: minimums choose a larger instance, or say why none is large enough', async () => {
  runtime.answer({ listOffers: () => [makeGpu('l4-x1', 1, 22.5), makeGpu('h100-x1', 1, 79.6)] })
  const model = { model_name: 'qwen2.5-instruct', model_format: 'pytorch', model_size_in_billions: 7 }
  const plan = async (minimums: object) => (await client.post(path, { ...model, ...minimums })).body
  expect(await plan({})).toMatchObject({
    instance_type: 'l4-x1',
    larger: { instance_type: 'h100-x1', context_tokens: 32_768, parallel_sequences: 126 },
  })
  expect(await plan({ min_parallel_sequences: 16, min_context_tokens: 32_768 })).toMatchObject({
    instance_type: 'h100-x1',
    context_tokens: 32_768,
    parallel_sequences: 126,
    cheaper: { instance_type: 'l4-x1', context_tokens: 32_768, parallel_sequences: 8 },
  })
  expect(await plan({ min_parallel_sequences: 200 })).toMatchObject({
    feasible: false,
    reason: expect.stringMatching(/for 200 × 8192 tokens .+ Ruled out: l4-x1 .+ needed/),
  })
  expect(await plan({ min_context_tokens: 40_000 })).toMatchObject({
    feasible: false,
    reason: expect.stringContaining(
      'A context of 40000 tokens is more than the 32768 tokens that the model has',
    ),
  })
  for (const wrong of [0, -1, 1.5, '8', 1e12]) {
    expect((await client.post(path, { ...model, min_context_tokens: wrong })).status).toBe(422)
  }
})

test('POST …/plan: an engine that is too old for the model is ruled out with both versions', async () => {
  runtime.answer({ listOffers: () => [makeGpu('h100-x1', 1, 79.6)] })
  const body = { model_name: 'qwen3.5', model_format: 'pytorch', model_size_in_billions: 9 }
  expect((await client.post(path, body)).body).toMatchObject({
    feasible: false,
    reason: expect.stringContaining(
      'h100-x1: vLLM 0.16.0 is too old for this model, which needs 0.17.0 or later',
    ),
  })
})

test('POST …/plan: without offers nothing is feasible', async () => {
  runtime.answer({ listOffers: () => [] })
  const answer = await client.post(path, { model_name: 'berth-tiny' })
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({ feasible: false, considered: [], memory_bytes: null })
})

test('POST …/plan: an unreachable runtime is a 503 without internals', async () => {
  runtime.answer({
    listOffers: () => {
      throw new Error('connect ECONNREFUSED 10.0.0.1:9997')
    },
  })
  const answer = await client.post(path, { model_name: 'berth-tiny' })
  expect(answer.status).toBe(503)
  expect(answer.body.code).toBe('runtime_unavailable')
  expect(JSON.stringify(answer.body)).not.toContain('10.0.0.1')
})

test('POST …/plan: a variant that is not in the catalog is a 422 model_not_deployable', async () => {
  for (const body of [{ model_name: 'no-such-model' }, { model_name: 'berth-tiny', model_format: 'awq' }]) {
    const answer = await client.post(path, body)
    expect(answer.status).toBe(422)
    expect(answer.body.code).toBe('model_not_deployable')
  }
})

test.each([{}, null, { model_name: '' }, { model_name: 'berth-tiny', gpu: 'H100' }, { model_name: 'x\0' }])(
  'POST …/plan: %j is a 422, like when creating',
  async (body) => {
    expect((await client.post(path, body)).status).toBe(422)
  },
)

test('POST …/plan: allowed for a viewer, 401 without a session', async () => {
  const viewer = await registerClient(server.url)
  await setRole(server, viewer.email, 'viewer')
  expect((await viewer.post(path, { model_name: 'berth-tiny' })).status).toBe(200)
  expect((await createClient(server.url).post(path, { model_name: 'berth-tiny' })).status).toBe(401)
})

test('POST …/plan: tells how long the last starts of the variant took, in the own organization only', async () => {
  const starting = await startTestServer({ worker: true, runtime: createScriptedRuntime() })
  onTestFinished(() => starting.close())
  const owner = await registerClient(starting.url)
  const tiny = { model_name: 'berth-tiny' }
  const readSeconds = async (caller: Client, body: object) =>
    (await caller.post(path, body)).body.start_seconds
  expect(await readSeconds(owner, tiny)).toBeNull()
  for (const seconds of [40, 10, 25]) {
    const { id } = (await owner.post('/api/v1/model-deployments', tiny)).body
    await waitForStatus(owner, id, 'running')
    await starting.application.db
      .updateTable('instances')
      .set({ ready_at: sql`created_at + make_interval(secs => ${seconds})` })
      .where('deployment_id', '=', id)
      .execute()
    await owner.delete(`/api/v1/model-deployments/${id}`)
  }
  expect(await readSeconds(owner, tiny)).toBe(25)
  expect(await readSeconds(owner, { model_name: 'berth-tiny-embedding' })).toBeNull()
  expect(await readSeconds(await registerClient(starting.url), tiny)).toBeNull()
})

test('POST …/plan and create name the programs of others that use the memory', async () => {
  const programs = 'python (pid 4242, user kai) uses 21.3 GiB'
  const crowded = { memoryBytes: 1 * GiB, inUse: { memoryBytes: 20 * GiB, programs } }
  runtime.answer({ listOffers: () => [{ ...makeGpu('l4-x1', 1, 22.5), ...crowded }] })
  const body = { model_name: 'qwen2.5-instruct', model_size_in_billions: 7, model_format: 'awq' }
  const plan = await client.post(path, body)
  expect(plan.body).toMatchObject({
    feasible: false,
    obstacle: 'in_use',
    reason: expect.stringContaining(`needed, in use by others: ${programs}.`),
  })
  const created = await client.post('/api/v1/model-deployments', body)
  expect(created.body).toMatchObject({ code: 'model_not_deployable', detail: plan.body.reason })
})

test('POST …/plan: a share of a GPU has its part of the price, and compute is not divided', async () => {
  const whole = makeGpu('l4-x1', 1, 22.5)
  const share = { instanceType: 'l4-x1/3', memoryBytes: Math.floor(whole.memoryBytes / 3), shares: 3 }
  runtime.answer({ listOffers: () => [whole, { ...whole, ...share }] })
  const body = { model_name: 'qwen2.5-instruct', model_size_in_billions: 0.5, model_format: 'awq' }
  expect((await client.post(path, body)).body).toMatchObject({
    instance_type: 'l4-x1/3',
    price_per_hour: '0.26666666',
    reason: expect.stringContaining('one of 3 shares of the memory of a GPU, whose compute is not divided'),
    larger: { instance_type: 'l4-x1', price_per_hour: '0.8' },
  })
  const chosen = await client.post(path, { ...body, instance_type: 'l4-x1' })
  expect(chosen.body).toMatchObject({ instance_type: 'l4-x1', price_per_hour: '0.8' })
})
