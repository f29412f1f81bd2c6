import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CachedWeights } from '../../../../src/ports/model-runtime.ts'
import type { ModelVariant } from '../../../../src/ports/model-variant.ts'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { startHubServer } from '../../../support/hub/hub-server.ts'
import type { HubServer } from '../../../support/hub/hub-server.ts'
import { makeRepositories } from '../../../support/hub/test-repositories.ts'
import { llamaCppLoras } from '../../../../src/adapters/model-runtime/engines/llama-cpp.ts'
import { engines } from '../../../support/engines.ts'
import { makeAdapterRepositories } from '../../../support/hub/adapter-repositories.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/api/v1/weights'
const file = (name: string, minutesAgo: number, isNeeded: boolean): CachedWeights => ({
  name,
  bytes: 1000,
  usedAt: new Date(Date.UTC(2026, 0, 1, 0, 60 - minutesAgo)),
  isNeeded,
})

let hub: HubServer
let server: TestServer
let client: Client
beforeAll(async () => {
  hub = await startHubServer({ ...makeRepositories(), ...makeAdapterRepositories() })
  /** Has the quantizations Q8_0 of every repository, and the LoRAs, in two files. */
  const findFiles = ({ format, quantization, weights }: ModelVariant) =>
    (quantization === 'Q8_0' || format === 'lora-gguf') && weights.kind === 'huggingface'
      ? [file('one', 20, false), file('two', 10, weights.repo.startsWith('acme/'))]
      : []
  const weightCache = {
    measure: async () => ({ bytes: 0, limitBytes: 0 }),
    list: async () => [],
    listOf: async (variants: readonly ModelVariant[]) => variants.map(findFiles),
    prune: async () => [],
    fetch: async () => null,
  }
  server = await startTestServer({
    runtime: {
      ...createScriptedRuntime(),
      engines: [{ ...engines.llamaCpp, loras: llamaCppLoras }],
      weightCache,
    },
    worker: false,
    settings: { HF_ENDPOINT: hub.origin },
  })
  client = await registerClient(server.url)
})
afterAll(async () => {
  await server.close()
  await hub.close()
})

test('GET /api/v1/weights: size and last use of the cached weights of the models that the caller sees', async () => {
  const model = await client.post('/api/v1/deployable-models', { huggingface: 'acme/Small-GGUF' })
  expect(model.status).toBe(201)
  const { status, body } = await client.get(path)
  expect(status).toBe(200)
  expect(body.items).toContainEqual({
    model_id: model.body.id,
    model_name: 'small-gguf',
    model_format: 'ggufv2',
    model_size_in_billions: 0.00522,
    quantization: 'Q8_0',
    bytes: 2000,
    last_used_at: '2026-01-01T00:50:00.000Z',
    in_use: true,
  })
  const names = body.items.map(({ model_name }: { model_name: string }) => model_name)
  expect(names).toContain('qwen3')
  // The operator's own file is in no cache.
  expect(names).not.toContain('berth-tiny')
})

test('GET /api/v1/weights: LoRAs too', async () => {
  const huggingface = 'acme/Tiny-LoRA-GGUF'
  const adapter = await client.post('/api/v1/deployable-models', { huggingface, base_model: 'berth-tiny' })
  expect(adapter.status, JSON.stringify(adapter.body)).toBe(201)
  const { body } = await client.get(path)
  const found = body.items.filter(({ model_id: id }: { model_id: string }) => id === adapter.body.id)
  expect(found).toMatchObject([{ model_name: 'tiny-lora-gguf', model_format: 'lora-gguf', bytes: 2000 }])
})

test('GET /api/v1/weights: not those of another organization', async () => {
  const { body } = await (await registerClient(server.url)).get(path)
  const names = body.items.map(({ model_name }: { model_name: string }) => model_name)
  expect(names).toContain('qwen3')
  expect(names).not.toContain('small-gguf')
})

test('GET /api/v1/weights: 401 without a session', async () => {
  expect((await createClient(server.url).get(path)).status).toBe(401)
})
