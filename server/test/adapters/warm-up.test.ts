import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { withWarmUp } from '../../src/adapters/model-runtime/warm-up.ts'
import { mainProtocols } from '../../src/features/inference/protocols/protocols.ts'
import type { EngineSpec, ModelRuntime } from '../../src/ports/model-runtime.ts'
import { registerClient } from '../support/client.ts'
import { waitForStatus } from '../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../support/recording-engine.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import type { ScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import { makeSpec, makeVariant } from './local-runtime-support.ts'

const completion = JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content: 'H' } }] })
/** What llama-server answers in router mode, while its health check passes. */
const routerError = JSON.stringify({
  error: { code: 503, message: 'model is not loaded', type: 'unavailable_error' },
})
const timeouts = { wait: 5_000, request: 5_000, unavailable: 60_000, total: 60_000 }

let engine: RecordingEngine
let scripted: ScriptedRuntime
let runtime: ModelRuntime
let spec: EngineSpec
beforeEach(async () => {
  engine = await startRecordingEngine()
  scripted = createScriptedRuntime(engine.url)
  runtime = withWarmUp(scripted, mainProtocols, timeouts)
  spec = makeSpec(makeVariant({ kind: 'file', path: 'x' }))
})
afterEach(async () => {
  await runtime.close()
  await engine.close()
})

const completes = (response: ServerResponse) => answerJson(response, completion)
const refuses = (response: ServerResponse) => answerJson(response, routerError, 503)

describe('withWarmUp', () => {
  test('ready after one chat completion of one token, with the key of the engine', async () => {
    engine.answer(completes)
    expect(await runtime.ensureEngine(spec)).toEqual({ phase: 'ready', endpoint: { baseUrl: engine.url } })
    const { path, headers, body } = engine.last()
    expect({ path, authorization: headers.authorization, body: JSON.parse(body) }).toEqual({
      path: '/v1/chat/completions',
      authorization: `Bearer ${spec.apiKey}`,
      body: { model: spec.servedModelName, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 1 },
    })
    expect(engine.requests).toHaveLength(1)
  })

  test('an embedding model embeds one short text', async () => {
    engine.answer((response) => answerJson(response, '{"data":[{"index":0,"embedding":[0.5]}]}'))
    const embedding = makeSpec(makeVariant({ kind: 'file', path: 'x' }, { modelType: 'embedding' }))
    expect(await runtime.ensureEngine(embedding)).toMatchObject({ phase: 'ready' })
    expect(engine.last().path).toBe('/v1/embeddings')
    expect(JSON.parse(engine.last().body)).toEqual({ model: embedding.servedModelName, input: 'Hello' })
  })

  test.each<[string, (response: ServerResponse) => void, RegExp]>([
    ['an error', refuses, /^The engine is healthy, .* failed: HTTP 503: model is not loaded\.$/],
    [
      "FastAPI's error",
      (response) => answerJson(response, '{"detail":"No model."}', 400),
      /HTTP 400: No model\.$/,
    ],
    [
      'no completion',
      (response) => answerJson(response, '{"choices":[]}'),
      /HTTP 200: \{"choices":\[\]\}\.$/,
    ],
    ['a broken connection', (response) => void response.destroy(), /test request failed: \w.*\.$/],
  ])('%s: starting, and the next call tries again', async (_name, answer, message) => {
    engine.answer(answer)
    expect(await runtime.ensureEngine(spec)).toEqual({
      phase: 'starting',
      message: expect.stringMatching(message),
    })
    engine.answer(completes)
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'ready' })
  })

  test('a slow first request: starting meanwhile, and the request is sent once', async () => {
    let response: ServerResponse | undefined
    engine.answer((held) => void (response = held))
    const impatient = withWarmUp(scripted, mainProtocols, { ...timeouts, wait: 20 })
    const message = 'The engine is processing its first request.'
    expect(await impatient.ensureEngine(spec)).toEqual({ phase: 'starting', message })
    expect(await impatient.ensureEngine(spec)).toEqual({ phase: 'starting', message })
    await vi.waitFor(() => expect(response).toBeDefined(), 20_000)
    completes(response!)
    await vi.waitFor(
      async () => expect(await impatient.ensureEngine(spec)).toMatchObject({ phase: 'ready' }),
      20_000,
    )
    expect(engine.requests).toHaveLength(1)
  })

  test('no successful response in time: failed with readiness_timeout', async () => {
    engine.answer(refuses)
    expect(await withWarmUp(scripted, mainProtocols, { ...timeouts, total: 0 }).ensureEngine(spec)).toEqual({
      phase: 'failed',
      stage: 'health_check',
      code: 'readiness_timeout',
      message: expect.stringContaining('HTTP 503'),
    })
    engine.answer(() => {})
    expect(
      await withWarmUp(scripted, mainProtocols, { ...timeouts, request: 20, total: 0 }).ensureEngine(spec),
    ).toMatchObject({
      phase: 'failed',
      message: expect.stringContaining('no response in time'),
    })
  })

  test('only answers of 503: failed with engine_unreachable, which a restart may fix', async () => {
    const brief = withWarmUp(scripted, mainProtocols, { ...timeouts, unavailable: 300 })
    engine.answer(refuses)
    expect(await brief.ensureEngine(spec)).toMatchObject({ phase: 'starting' })
    engine.answer((response) => answerJson(response, '{}', 500))
    await sleep(320)
    expect(await brief.ensureEngine(spec), 'another error').toMatchObject({ phase: 'starting' })
    engine.answer(refuses)
    expect(await brief.ensureEngine(spec)).toMatchObject({ phase: 'starting' })
    await sleep(320)
    expect(await brief.ensureEngine(spec)).toEqual({
      phase: 'failed',
      stage: 'health_check',
      code: 'engine_unreachable',
      message: expect.stringContaining('HTTP 503: model is not loaded'),
    })
    expect(await brief.ensureEngine(spec), 'after the restart').toMatchObject({ phase: 'starting' })
  })

  test('stopEngine aborts the request, and the next start warms up again', async () => {
    engine.answer(() => {})
    const impatient = withWarmUp(scripted, mainProtocols, { ...timeouts, wait: 20 })
    await impatient.ensureEngine(spec)
    await vi.waitFor(() => expect(engine.requests).toHaveLength(1), 20_000)
    await impatient.stopEngine(spec.engineId)
    await vi.waitFor(() => expect(engine.last().aborted).toBe(true), 20_000)
    engine.answer(completes)
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'ready' })
    expect(engine.requests).toHaveLength(2)
  })

  test('an engine that is not ready gets no request', async () => {
    scripted.answer({ ensureEngine: () => ({ phase: 'starting', message: 'Loading.' }) })
    expect(await runtime.ensureEngine(spec)).toEqual({ phase: 'starting', message: 'Loading.' })
    expect(engine.requests).toEqual([])
  })

  test("a runtime's own authorization replaces the key, and a refused one is replaced", async () => {
    const refused: (string | null | undefined)[] = []
    scripted.authorizeEngine = async (_baseUrl, header) => {
      refused.push(header)
      return header == null ? 'Bearer old' : 'Bearer new'
    }
    const authorized = withWarmUp(scripted, mainProtocols, timeouts)
    engine.answer((response, { headers }) =>
      headers.authorization === 'Bearer new' ? completes(response) : answerJson(response, '{}', 401),
    )
    expect(await authorized.ensureEngine(spec)).toMatchObject({ phase: 'starting' })
    expect(await authorized.ensureEngine(spec)).toMatchObject({ phase: 'ready' })
    expect(refused).toEqual([null, 'Bearer old'])
  })
})

test('a deployment is deploying until its engine has answered a request, and then running', async () => {
  engine.answer(refuses)
  await using server = await openServer()
  const client = await registerClient(server.url)
  const { id } = (await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })).body
  await vi.waitFor(async () => {
    const { body } = await client.get(`/api/v1/model-deployments/${id}`)
    expect(body).toMatchObject({
      status: 'deploying',
      status_message: expect.stringContaining('its test request failed: HTTP 503: model is not loaded'),
    })
  }, 20_000)
  engine.answer(completes)
  await waitForStatus(client, id, 'running')
})

async function openServer() {
  const server = await startTestServer({ runtime })
  return { url: server.url, [Symbol.asyncDispose]: () => server.close() }
}
