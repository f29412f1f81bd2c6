import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { setRole } from '../../../support/roles.ts'
import { createScriptedRuntime, makeOffer } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/api/v1/placements'
const GiB = 2 ** 30
const runtime = createScriptedRuntime()

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ worker: false, runtime })
  client = await registerClient(server.url)
})
beforeEach(() => runtime.reset())
afterAll(() => server.close())

interface Item {
  model_id: string
  model_name: string
  model_format: string
  model_size_in_billions: number
  quantization: string
  memory_bytes: number | null
  feasible: boolean
  instance_type: string | null
  gpu_count: number | null
  price_per_hour: string | null
}

const gpu = makeOffer('l4-x1', {
  gpuCount: 1,
  vendor: 'nvidia',
  computeCapability: 8.9,
  formats: ['ggufv2', 'pytorch', 'awq', 'fp8'],
  memoryBytes: Math.floor(0.9 * 22.5 * GiB),
})

/** Every variant and quantization in the catalog, in order. */
async function listShown(): Promise<string[]> {
  const lists = await Promise.all(
    ['LLM', 'embedding', 'rerank'].map((type) => client.get(`/api/v1/deployable-models?model_type=${type}`)),
  )
  return lists.flatMap(({ body }) =>
    body.items.flatMap((model: any) =>
      model.variants.flatMap((variant: any) =>
        variant.quantizations.map((quantization: string) =>
          [model.id, variant.model_format, variant.model_size_in_billions, quantization].join(' '),
        ),
      ),
    ),
  )
}

const nameOf = (item: Item) =>
  [item.model_id, item.model_format, item.model_size_in_billions, item.quantization].join(' ')

test('GET /api/v1/placements: every quantization of every variant, with one query for the offers', async () => {
  let looks = 0
  runtime.answer({
    listOffers: () => {
      looks += 1
      return [makeOffer('small'), gpu]
    },
  })
  const answer = await client.get(path)
  expect(answer.status).toBe(200)
  expect(looks).toBe(1)
  expect(answer.body.currency).toBe('usd')
  const items: Item[] = answer.body.items
  expect(items.map(nameOf).toSorted()).toEqual((await listShown()).toSorted())
  expect(new Set(items.map(({ feasible }) => feasible))).toEqual(new Set([true, false]))
})

test('GET /api/v1/placements: each item matches the plan of its variant', async () => {
  runtime.answer({ listOffers: () => [makeOffer('small'), gpu] })
  const items: Item[] = (await client.get(path)).body.items
  const picked = [
    ...items.filter(({ feasible }) => feasible).slice(0, 12),
    ...items.filter(({ feasible }) => !feasible).slice(0, 3),
  ]
  expect(picked).toHaveLength(15)
  for (const item of picked) {
    const { model_name, model_format, model_size_in_billions, quantization } = item
    const { body: plan } = await client.post('/api/v1/model-deployments/plan', {
      model_name,
      model_format,
      model_size_in_billions,
      quantization,
    })
    const { feasible, instance_type, gpu_count, price_per_hour, memory_bytes } = plan
    expect(item).toMatchObject({ feasible, instance_type, gpu_count, price_per_hour, memory_bytes })
  }
})

test('GET /api/v1/placements: without offers nothing is feasible and memory_bytes is null', async () => {
  runtime.answer({ listOffers: () => [] })
  const items: Item[] = (await client.get(path)).body.items
  expect(items.length).toBeGreaterThan(0)
  for (const item of items) {
    expect(item).toMatchObject({
      feasible: false,
      obstacle: 'hardware',
      instance_type: null,
      price_per_hour: null,
      memory_bytes: null,
    })
  }
})

test('GET /api/v1/placements: disabled models are excluded', async () => {
  const { db } = server.application
  await db.updateTable('deployable_models').set({ enabled: false }).where('id', '=', 'berth-tiny').execute()
  const items: Item[] = (await client.get(path)).body.items
  await db.updateTable('deployable_models').set({ enabled: true }).where('id', '=', 'berth-tiny').execute()
  expect(items.some(({ model_id: id }) => id === 'berth-tiny')).toBe(false)
})

test('GET /api/v1/placements: an unreachable runtime is a 503 without internals', async () => {
  runtime.answer({
    listOffers: () => {
      throw new Error('connect ECONNREFUSED 10.0.0.1:9997')
    },
  })
  const answer = await client.get(path)
  expect(answer).toMatchObject({ status: 503, body: { code: 'runtime_unavailable' } })
  expect(JSON.stringify(answer.body)).not.toContain('10.0.0.1')
})

test('GET /api/v1/placements: allowed for a viewer, 401 without a session', async () => {
  const viewer = await registerClient(server.url)
  await setRole(server, viewer.email, 'viewer')
  expect((await viewer.get(path)).status).toBe(200)
  expect((await createClient(server.url).get(path)).status).toBe(401)
})
