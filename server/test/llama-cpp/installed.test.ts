import { expect, test, vi } from 'vitest'
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
