import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listEngines } from '../../src/adapters/model-runtime/kubernetes/engine-plan.ts'
import { readCatalogFile } from '../../src/features/catalog/sources/file.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { waitForStatus } from '../support/deployments.ts'
import { startRecordingEngine } from '../support/recording-engine.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime, makeOffer } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import {
  answer,
  generateLikeVllm,
  generateLikeXinference,
  sendCompletion,
  thoughts,
} from '../support/thinking-double.ts'
import recording from '../vllm/recording.json' with { type: 'json' }

const { models } = readCatalogFile(fileURLToPath(new URL('../../../catalog/models.yaml', import.meta.url)))
const thinking = models.filter(({ tags }) => tags.includes('reasoning'))
const images = { vllm: 'vllm/vllm-openai:v0.28.0', llamaCpp: 'llama.cpp:server-cuda-b10964' }
const runtime = Object.assign(createScriptedRuntime(), { engines: listEngines(images) })
const offer = makeOffer('h200-x8', {
  gpuCount: 8,
  vendor: 'nvidia',
  computeCapability: 9,
  formats: ['pytorch', 'fp8'],
  memoryBytes: 1008 * 2 ** 30,
})

let engine: RecordingEngine
let server: TestServer
let client: Client
let generate: typeof generateLikeVllm
beforeAll(async () => {
  engine = await startRecordingEngine()
  engine.answer((response, { body }) => {
    const { model, stream = false } = JSON.parse(body)
    sendCompletion(
      response,
      generate(runtime.specs.findLast(({ servedModelName }) => servedModelName === model)!),
      stream,
    )
  })
  const ready = () => ({ phase: 'ready' as const, endpoint: { baseUrl: engine.url } })
  const single = { ...offer, instanceType: 'h200-x1', gpuCount: 1, memoryBytes: 126 * 2 ** 30 }
  runtime.answer({ listOffers: () => [single, offer], ensureEngine: ready, observeEngine: ready })
  server = await startTestServer({ worker: true, runtime, settings: { BILLING_TRIAL_MAX_ACTIVE: '50' } })
  client = await registerClient(server.url)
})
afterAll(async () => {
  await server.close()
  await engine.close()
})

async function deploy(model_name: string): Promise<string> {
  const model = models.find((each) => each.modelName === model_name)!
  const { format, sizeInBillions } = model.variants.find((each) => offer.formats.includes(each.format))!
  const created = await client.post('/api/v1/model-deployments', {
    model_name,
    model_format: format,
    model_size_in_billions: sizeInBillions,
  })
  return (await waitForStatus(client, created.body.id, 'running')).id
}

/** The content and the thoughts that a caller reads, streamed or not. */
async function ask(model: string, stream: boolean): Promise<{ content: string; reasoning: string }> {
  const body = { model, stream, messages: [{ role: 'user', content: '2 + 2?' }] }
  const response = await client.post('/v1/chat/completions', body)
  expect(response.status).toBe(200)
  const messages: Record<string, string | undefined>[] = stream
    ? String(response.body)
        .split('\n')
        .filter((line) => line.startsWith('data: {'))
        .map((line) => JSON.parse(line.slice(6)).choices[0].delta)
    : [response.body.choices[0].message]
  const join = (field: string) => messages.map((message) => message[field] ?? '').join('')
  return { content: join('content'), reasoning: join('reasoning') + join('reasoning_content') }
}

test('the double of vLLM uses the fields of the recording', () => {
  const { message, delta } = recording
  const { separated } = generateLikeVllm({ variant: thinking[0]!.default, modelUid: 'dep-1' } as never)
  expect(Object.keys(separated)).toHaveLength(1)
  expect(message).toEqual(expect.arrayContaining(['content', ...Object.keys(separated)]))
  expect(delta).toEqual(expect.arrayContaining(['content', ...Object.keys(separated)]))
})

test('the doubles put thoughts into the content of an engine that is not told to separate them', () => {
  const spec = { variant: { ...thinking[0]!.default, engines: {} }, modelUid: 'dep-1' } as never
  expect(generateLikeVllm(spec).content).toContain(thoughts)
  expect(generateLikeXinference(spec).content).toContain(thoughts)
})

describe.each(thinking.map(({ modelName, default: { engines } }) => [modelName, engines] as const))(
  '%s',
  (modelName, engines) => {
    test('thoughts never appear in content, streamed or not, from vLLM or Xinference', async () => {
      const id = await deploy(modelName)
      const isKnownToXinference = engines?.xinference?.separatesReasoning === true
      for (generate of [generateLikeVllm, ...(isKnownToXinference ? [generateLikeXinference] : [])]) {
        for (const stream of [false, true]) {
          expect(await ask(id, stream)).toEqual({ content: answer, reasoning: thoughts })
        }
      }
    })
  },
)
