import { expect, test, vi } from 'vitest'
import { llamaCppOptions } from '../../src/adapters/model-runtime/engines/engine-options.ts'
import { createLocalRuntime } from '../../src/adapters/model-runtime/local/runtime.ts'
import {
  makeFolder,
  makeSettings,
  makeSpec,
  makeVariant,
  openRuntime,
  patient,
  reach,
  tinyModel,
} from '../adapters/local-runtime-support.ts'

/** A value for each option that a deployment may set */
const everyOption = {
  'batch-size': 256,
  'cache-reuse': 1,
  'cache-type-k': 'q8_0',
  'cache-type-v': 'f16',
  'chat-template-kwargs': '{"enable_thinking":false}',
  'cont-batching': true,
  'context-shift': false,
  'draft-max': 4,
  'draft-min': 1,
  'draft-p-min': 0.5,
  'flash-attn': 'auto',
  'frequency-penalty': 0,
  'image-max-tokens': 64,
  'image-min-tokens': 1,
  'kv-unified': true,
  'min-p': 0.1,
  'no-mmap': true,
  'no-warmup': true,
  'presence-penalty': 0,
  'reasoning-budget': -1,
  'repeat-penalty': 1,
  'rope-freq-base': 10_000,
  'rope-freq-scale': 1,
  'rope-scale': 1,
  'rope-scaling': 'none',
  seed: -1,
  'slot-prompt-similarity': 0.5,
  'spec-type': 'ngram-simple',
  'split-mode': 'layer',
  temp: 0.5,
  'top-k': 10,
  'top-p': 0.9,
  'ubatch-size': 128,
  'yarn-attn-factor': 1,
  'yarn-beta-fast': 32,
  'yarn-beta-slow': 1,
  'yarn-ext-factor': 1,
  'yarn-orig-ctx': 512,
}

test('engines install llama.cpp serves a chat and an embedding on the CPU, and can’t be removed meanwhile', async () => {
  const folder = await makeFolder()
  const environment = { ...process.env, NODE_LLAMA_CPP_GPU: 'false' }
  const settings = makeSettings(folder, { environment })
  const before = await createLocalRuntime(settings)
  const change = await before.hostEngines!.install('llama.cpp', (line) => console.log(line))
  expect(change).toEqual({ name: expect.stringMatching(/^llama\.cpp-\d/) })
  await before.close()
  const { name } = change as { name: string }

  const runtime = await openRuntime(settings)
  expect(runtime.engines.map((engine) => engine.name)).toEqual(['llama.cpp'])
  const variant = makeVariant({ kind: 'file', path: tinyModel })
  const chat = makeSpec(variant)
  const { endpoint } = await reach(runtime, chat, 'ready')
  const ask = async (baseUrl: string, path: string, key: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(`${baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const messages = [{ role: 'user', content: 'What is 27 + 15?' }]
  expect((await ask(endpoint.baseUrl, '/v1/chat/completions', 'wrong', { messages })).status).toBe(401)
  expect(
    await ask(endpoint.baseUrl, '/v1/chat/completions', chat.apiKey, { messages, max_tokens: 16 }),
  ).toMatchObject({ status: 200, body: { choices: [{ message: { role: 'assistant' } }] } })

  // Other options than a deployment may set are the operator's, of the catalog.
  const withOptions = makeSpec(variant, { engineOptions: everyOption })
  expect(Object.keys(everyOption).toSorted()).toEqual(Object.keys(llamaCppOptions).toSorted())
  const { endpoint: third } = await reach(runtime, withOptions, 'ready')
  expect(
    await ask(third.baseUrl, '/v1/chat/completions', withOptions.apiKey, { messages, max_tokens: 16 }),
  ).toMatchObject({ status: 200 })
  await vi.waitUntil(() => runtime.release(withOptions.engineId), patient)
  const unknown = makeSpec({ ...variant, engines: { llamaCpp: { options: { 'no-such-option': true } } } })
  const failed = await reach(runtime, unknown, 'failed')
  expect(failed.message).toContain("it doesn't have the option --no-such-option.")
  await vi.waitUntil(() => runtime.release(unknown.engineId), patient)

  expect(await runtime.hostEngines!.remove(name)).toEqual({
    refusal: expect.stringContaining(`${name} is in use by`),
  })

  const path = tinyModel.replace('berth-tiny', 'berth-tiny-embedding')
  const embedding = makeSpec({ ...makeVariant({ kind: 'file', path }), modelType: 'embedding' })
  const { endpoint: other } = await reach(runtime, embedding, 'ready')
  const embedded = await ask(other.baseUrl, '/v1/embeddings', embedding.apiKey, { input: 'hello' })
  expect(embedded).toMatchObject({ status: 200, body: { data: [{ embedding: expect.any(Array) }] } })

  for (const { engineId } of [chat, embedding]) await vi.waitUntil(() => runtime.release(engineId), patient)
  expect(await runtime.hostEngines!.remove(name)).toEqual({ name })
})
