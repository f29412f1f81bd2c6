import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { EngineObservation } from '../../../../../src/ports/model-runtime.ts'
import { llamaCppLoras } from '../../../../../src/adapters/model-runtime/engines/llama-cpp.ts'
import { vllmLoras } from '../../../../../src/adapters/model-runtime/engines/vllm.ts'
import { registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { waitForStatus } from '../../../../support/deployments.ts'
import { engines } from '../../../../support/engines.ts'
import { startHubServer } from '../../../../support/hub/hub-server.ts'
import type { HubServer } from '../../../../support/hub/hub-server.ts'
import { makeAdapterRepositories, makePeftAdapter } from '../../../../support/hub/adapter-repositories.ts'
import { makeGgufLora } from '../../../../support/hub/model-files.ts'
import { answerJson, startRecordingEngine } from '../../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../../support/recording-engine.ts'
import { createScriptedRuntime, makeOffer } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'
import { uploadFile } from '../../../../support/tus.ts'

const models = '/api/v1/deployable-models'
const deployments = '/api/v1/model-deployments'
const patience = { timeout: 30_000, interval: 50 }
const scripted = createScriptedRuntime()
const runtime = {
  ...scripted,
  engines: [
    { ...engines.llamaCpp, loras: llamaCppLoras },
    { ...engines.vllm, loras: vllmLoras },
  ],
}

let hub: HubServer
let engine: RecordingEngine
let server: TestServer
let client: Client
beforeAll(async () => {
  hub = await startHubServer(makeAdapterRepositories(), { tokens: ['hf_of_acme'] })
  engine = await startRecordingEngine()
  server = await startTestServer({
    runtime,
    settings: { HF_ENDPOINT: hub.origin, BILLING_TRIAL_MAX_ACTIVE: '50' },
  })
  client = await registerClient(server.url)
})
beforeEach(() => {
  const ready: EngineObservation = { phase: 'ready', endpoint: { baseUrl: engine.url } }
  scripted.answer({
    listOffers: () => [makeOffer('small', { formats: ['ggufv2', 'pytorch'] })],
    ensureEngine: () => ready,
    observeEngine: () => ready,
  })
  engine.answer((response, { body }) => {
    const { model } = JSON.parse(body)
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }
    answerJson(response, JSON.stringify({ model, choices: [{ message: { content: 'x' } }], usage }))
  })
  engine.requests.length = 0
})
afterEach(() => scripted.reset())
afterAll(async () => {
  await server.close()
  await engine.close()
  await hub.close()
})

async function addModel(
  repository: string,
  model_name: string,
  body: object = {},
  by = client,
): Promise<string> {
  const answer = await by.post(models, { huggingface: repository, model_name, ...body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return answer.body.id
}

async function deploy(model: object, by = client): Promise<string> {
  const { status, body } = await by.post(deployments, model)
  expect(status, JSON.stringify(body)).toBe(201)
  await waitForStatus(by, body.id, 'running')
  return body.id
}

const read = async (id: string) => (await client.get(`${deployments}/${id}`)).body
const setAdapters = (id: string, adapters: string[]) => client.patch(`${deployments}/${id}`, { adapters })

async function serveAdapters(id: string, adapters: string[]): Promise<void> {
  const { status, body } = await setAdapters(id, adapters)
  expect(status, JSON.stringify(body)).toBe(200)
  await vi.waitFor(async () => {
    const served = (await read(id)).adapters as { ready: boolean }[]
    expect(served).toHaveLength(adapters.length)
    expect(served.every(({ ready }) => ready)).toBe(true)
  }, patience)
}

const chat = (model: string, more: object = {}) =>
  client.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'a' }], ...more })
const lastBody = () => JSON.parse(engine.requests.at(-1)!.body)

describe('an import', () => {
  test('POST …/inspect: a LoRA, its base model in the catalog, its rank and its matrices', async () => {
    const { body } = await client.post(`${models}/inspect`, {
      huggingface: 'acme/Tiny-LoRA-GGUF',
      base_model: 'berth-tiny',
    })
    expect(body.adapter).toEqual({
      base_repository: 'acme/Tiny',
      base_model: 'berth-tiny',
      rank: 4,
      target_modules: ['attn_q', 'attn_v'],
    })
    expect(body.variants).toMatchObject([{ model_format: 'lora-gguf', engine: 'llama.cpp', runs: true }])
  })

  test('the base model is found by its repository, or by that of a copy', async () => {
    const inspect = async () =>
      (await client.post(`${models}/inspect`, { huggingface: 'acme/Small-LoRA' })).body
    const before = await inspect()
    expect(before.adapter).toMatchObject({ base_repository: 'acme/Small', base_model: null, rank: 16 })
    expect(before.variants).toMatchObject([
      {
        model_format: 'lora-peft',
        runs: false,
        reason: expect.stringMatching(/^It is a LoRA of acme\/Small/),
      },
    ])
    const refused = await client.post(models, { huggingface: 'acme/Small-LoRA' })
    expect(refused).toMatchObject({ status: 422, body: { code: 'base_model_not_found' } })
    await addModel('other/Small-GGUF', 'small-copy')
    expect((await inspect()).adapter.base_model).toBe('small-copy')
    await addModel('acme/Small', 'small')
    expect((await inspect()).adapter.base_model).toBe('small')
  })

  test.each([
    ['acme/DoRA', /^PEFT LoRA: LoRAs with use_dora are not supported\.$/],
    ['acme/Prompt-Tuning', /no LoRA, but PROMPT_TUNING/],
    ['acme/Pickled-LoRA', /no adapter_model\.safetensors/],
    ['acme/Large-LoRA', /vLLM serves LoRAs up to rank 512, and this one has 1024/],
    ['acme/Empty-LoRA', /no matrices of a LoRA/],
  ])('%s: %s', async (huggingface, reason) => {
    const { status, body } = await client.post(models, { huggingface })
    expect([status, body.code]).toEqual([422, 'no_runnable_weights'])
    expect(body.reasons.join(' ')).toMatch(reason)
  })

  test('a LoRA of another hidden size does not fit', async () => {
    const body = { huggingface: 'acme/Small-LoRA', base_model: 'berth-tiny' }
    const answer = await client.post(models, body)
    expect(answer.body).toMatchObject({ code: 'base_model_not_found' })
    expect(answer.body.detail).toMatch(/hidden size of 1024, which no variant of berth-tiny has/)
  })

  const fitting = { name: 'blk.0.attn_q', columns: 128, rows: 128 }
  test.each([
    ['more layers than the model', [fitting, { ...fitting, name: 'blk.8.attn_q' }], 'no blk.8.attn_q.weight'],
    [
      'a tensor that the model lacks',
      [fitting, { ...fitting, name: 'blk.0.ffn_gate_exps' }],
      'no blk.0.ffn_gate_exps',
    ],
    [
      'other rows',
      [fitting, { name: 'blk.0.attn_k', columns: 128, rows: 64 }],
      'a matrix of 128 × 64, but the model’s is 128 × 128',
    ],
    [
      'other columns',
      [fitting, { name: 'blk.0.ffn_down', columns: 64, rows: 128 }],
      'blk.0.ffn_down.weight as a matrix of 64 × 128',
    ],
  ])('an uploaded LoRA with %s does not fit', async (_name, targets, problem) => {
    const upload_id = await uploadFile(client, makeGgufLora(targets), { filename: 'misfit-F32.gguf' })
    const answer = await client.post(models, { upload_id, model_name: 'no-fit', base_model: 'berth-tiny' })
    expect(answer).toMatchObject({ status: 422, body: { code: 'base_model_not_found' } })
    expect(answer.body.detail).toContain('does not fit berth-tiny: ')
    expect(answer.body.detail).toContain(problem)
    await client.delete(`/api/v1/model-uploads/${upload_id}`)
  })

  test('an uploaded LoRA of fewer layers than the model fits', async () => {
    const upload_id = await uploadFile(client, makeGgufLora([fitting]), { filename: 'one-layer-F32.gguf' })
    const body = { upload_id, model_name: 'one-layer', base_model: 'berth-tiny' }
    expect((await client.post(models, body)).status).toBe(201)
  })

  test('a LoRA of PEFT with more layers than the model does not fit', async () => {
    hub.repositories['acme/Deep-LoRA'] = {
      commit: 'd'.repeat(40),
      files: makePeftAdapter({ base: 'acme/Small', rank: 16, hiddenSize: 1024, layers: 2 }),
    }
    const answer = await client.post(models, { huggingface: 'acme/Deep-LoRA', base_model: 'small' })
    expect(answer).toMatchObject({ status: 422, body: { code: 'base_model_not_found' } })
    expect(answer.body.detail).toBe('It does not fit small: the model has no layers.1.self_attn.q_proj.')
  })

  test('a LoRA is not deployed itself, and has no placement', async () => {
    const id = await addModel('acme/Tiny-LoRA-GGUF', 'not-alone', { base_model: 'berth-tiny' })
    const refused = await client.post(deployments, { model_name: 'not-alone' })
    expect(refused.body).toMatchObject({ code: 'model_not_deployable' })
    expect(refused.body.detail).toMatch(/LoRA of berth-tiny\. Deploy berth-tiny, then add the LoRA/)
    const { items } = (await client.get('/api/v1/placements')).body
    expect(items.filter((item: { model_id: string }) => item.model_id === id)).toEqual([])
  })
})

describe('PATCH …/{id} {adapters}', () => {
  test('a running deployment serves until an instance with the LoRAs takes over', async () => {
    const [one, two] = [
      await addModel('acme/Tiny-LoRA-GGUF', 'one', { base_model: 'berth-tiny' }),
      await addModel('acme/Other-Tiny-LoRA-GGUF', 'two', { base_model: 'berth-tiny' }),
    ]
    const id = await deploy({ model_name: 'berth-tiny' })
    const [{ id: firstInstance }] = (await read(id)).instances
    await serveAdapters(id, [one, two])
    await vi.waitFor(async () => {
      const { instances } = await read(id)
      expect(instances).toHaveLength(1)
      expect(instances[0].id).not.toBe(firstInstance)
    }, patience)
    const spec = scripted.specs.findLast(({ deploymentId }) => deploymentId === id)!
    expect(spec.loras).toMatchObject([
      { modelId: one, modelName: 'one', rank: 4, weights: { repo: 'acme/Tiny-LoRA-GGUF' }, hubToken: null },
      { modelId: two },
    ])
    const events = (await client.get(`${deployments}/${id}/events`)).body.items
    expect(events.map(({ message }: { message: string }) => message)).toContain(
      'The deployment is to serve the LoRAs one, two.',
    )

    await chat('one')
    expect(lastBody()).toMatchObject({
      model: 'berth-tiny',
      lora: [
        { id: 0, scale: 1 },
        { id: 1, scale: 0 },
      ],
    })
    for (const model of ['berth-tiny:two', `${id}:two`, `dep-${id}:two`]) {
      expect((await chat(model)).status).toBe(200)
      expect(lastBody().lora).toMatchObject([{ scale: 0 }, { scale: 1 }])
    }
    await chat('berth-tiny', { lora: null })
    expect(lastBody().lora).toMatchObject([{ scale: 0 }, { scale: 0 }])
    const own = await chat('berth-tiny', { lora: [{ id: 0, scale: 1 }] })
    expect(own.status).toBe(400)
    expect(own.body.error.message).toMatch(/Name a LoRA of the deployment in `model`/)

    const { data } = (await client.get('/v1/models')).body
    const listed = new Map(data.map((each: { id: string }) => [each.id, each]))
    expect(listed.get('one')).toMatchObject({ base_model: 'berth-tiny', deployments: [id] })
    expect(listed.get('berth-tiny')).toMatchObject({ base_model: null })
    expect((await client.get('/v1/models/two')).body).toMatchObject({ base_model: 'berth-tiny' })

    await server.application.tokens.flush()
    const totals = (await client.get('/v1/billing/usage-summary')).body.usage_totals
    const outputs = totals.filter(({ meter }: { meter: string }) => meter === 'inference_output_tokens')
    expect(
      outputs.map((total: { dimensions: { model_name: string }; total_quantity: string }) => [
        total.dimensions.model_name,
        Number(total.total_quantity),
      ]),
    ).toEqual(
      expect.arrayContaining([
        ['one', 2],
        ['two', 6],
        ['berth-tiny', 2],
      ]),
    )

    expect((await client.delete(`${models}/${one}`)).body).toMatchObject({ code: 'model_in_use' })
    await setAdapters(id, [two])
    await vi.waitFor(async () => expect((await chat('one')).status).toBe(404), patience)
    expect((await client.delete(`${models}/${one}`)).status).toBe(204)
    await client.delete(`${deployments}/${id}`)
  }, 60_000)

  test('a LoRA with which no instance starts is taken back, so that neither a sleep nor a crash ends the deployment', async () => {
    const adapter = await addModel('acme/Tiny-LoRA-GGUF', 'misfit', { base_model: 'berth-tiny' })
    const id = await deploy({ model_name: 'berth-tiny' })
    const failed: EngineObservation = {
      phase: 'failed',
      stage: 'engine_startup',
      code: 'launch_rejected',
      message: 'The LoRA does not fit.',
    }
    const ready: EngineObservation = { phase: 'ready', endpoint: { baseUrl: engine.url } }
    scripted.answer({ ensureEngine: (spec) => ((spec.loras ?? []).length > 0 ? failed : ready) })
    const readMessages = async () =>
      (await client.get(`${deployments}/${id}/events`)).body.items.map(
        ({ message }: { message: string }) => message,
      ) as string[]
    const takenBack =
      'The LoRA does not fit. The deployment has the settings again with which it served last.'

    // Beside a healthy instance
    expect((await setAdapters(id, [adapter])).status).toBe(200)
    await vi.waitFor(async () => expect(await readMessages()).toContain(takenBack), patience)
    expect(await read(id)).toMatchObject({ status: 'running', adapters: [], waiting_for: null })
    expect((await chat(id)).status).toBe(200)

    // Asleep when it was changed
    await client.post(`${deployments}/${id}/sleep`, {})
    await waitForStatus(client, id, 'sleeping')
    expect((await setAdapters(id, [adapter])).status).toBe(200)
    await client.post(`${deployments}/${id}/wake`, {})
    await waitForStatus(client, id, 'running')
    expect((await read(id)).adapters).toEqual([])
    expect((await readMessages()).filter((message) => message === takenBack)).toHaveLength(2)
    await client.delete(`${deployments}/${id}`)
  }, 60_000)

  test('an engine that selects LoRAs by name gets the id of the LoRA as the model', async () => {
    const adapter = await addModel('acme/Small-LoRA', 'polite', { base_model: 'small' })
    const id = await deploy({ model_name: 'small' })
    await serveAdapters(id, [adapter])
    expect((await chat('small:polite')).status).toBe(200)
    expect(lastBody().model).toBe(adapter)
    expect(lastBody()).not.toHaveProperty('lora')
    await chat('small')
    expect(lastBody().model).toBe('small')
    await client.delete(`${deployments}/${id}`)
  })

  test('a file under two names is loaded once and answers to both', async () => {
    const specOf = (id: string) => scripted.specs.findLast(({ deploymentId }) => deploymentId === id)!
    const tiny = { base_model: 'berth-tiny' }
    const ggufs = [
      await addModel('acme/Tiny-LoRA-GGUF', 'first', tiny),
      await addModel('acme/Other-Tiny-LoRA-GGUF', 'between', tiny),
      await addModel('acme/Tiny-LoRA-GGUF', 'again', tiny),
    ]
    const listed = await deploy({ model_name: 'berth-tiny' })
    await serveAdapters(listed, ggufs)
    expect(specOf(listed).loras).toMatchObject([{ modelId: ggufs[0] }, { modelId: ggufs[1] }])
    for (const [model, scales] of [
      ['first', [1, 0]],
      ['again', [1, 0]],
      ['between', [0, 1]],
      ['berth-tiny', [0, 0]],
    ] as const) {
      expect((await chat(model)).status).toBe(200)
      expect(lastBody().lora, model).toEqual(scales.map((scale, id) => ({ id, scale })))
    }
    const pefts = [
      await addModel('acme/Small-LoRA', 'kind', { base_model: 'small' }),
      await addModel('acme/Small-LoRA', 'kind-too', { base_model: 'small' }),
    ]
    const named = await deploy({ model_name: 'small' })
    await serveAdapters(named, pefts)
    expect(specOf(named).loras).toMatchObject([{ modelId: pefts[0] }])
    for (const model of ['kind', 'kind-too']) {
      expect((await chat(model)).status).toBe(200)
      expect(lastBody().model).toBe(pefts[0])
    }
    for (const each of [listed, named]) await client.delete(`${deployments}/${each}`)
  }, 60_000)

  test('409: an alias that is the name of a served LoRA, and a LoRA whose name is an alias', async () => {
    const adapter = await addModel('acme/Tiny-LoRA-GGUF', 'named', { base_model: 'berth-tiny' })
    const [id, other] = [
      await deploy({ model_name: 'berth-tiny' }),
      await deploy({ model_name: 'berth-tiny' }),
    ]
    const setAlias = (of: string, alias: string | null) => client.patch(`${deployments}/${of}`, { alias })
    await serveAdapters(id, [adapter])
    for (const of of [id, other]) {
      expect(await setAlias(of, 'named')).toMatchObject({ status: 409, body: { code: 'alias_taken' } })
    }
    expect((await setAlias(other, 'later')).status).toBe(200)
    const import_ = { huggingface: 'acme/Tiny-LoRA-GGUF', model_name: 'Later', base_model: 'berth-tiny' }
    expect(await client.post(models, import_)).toMatchObject({
      status: 409,
      body: { code: 'model_name_taken' },
    })
    expect((await setAlias(other, 'berth-tiny:later')).status).toBe(200)
    const later = await addModel('acme/Tiny-LoRA-GGUF', 'later', { base_model: 'berth-tiny' })
    expect(await setAdapters(id, [later])).toMatchObject({ status: 409, body: { code: 'alias_taken' } })
    expect((await setAlias(other, null)).status).toBe(200)
    expect((await setAdapters(id, [later])).status).toBe(200)
    for (const each of [id, other]) await client.delete(`${deployments}/${each}`)
  }, 60_000)

  test('a request for a LoRA that no instance has yet is a 503', async () => {
    const adapter = await addModel('acme/Tiny-LoRA-GGUF', 'late', { base_model: 'berth-tiny' })
    const id = await deploy({ model_name: 'berth-tiny' })
    scripted.answer({ ensureEngine: () => ({ phase: 'starting', message: 'It starts.' }) })
    await setAdapters(id, [adapter])
    const answer = await chat('late')
    expect(answer.status).toBe(503)
    expect(answer.body.error).toMatchObject({ code: 'deployment_not_ready' })
    expect((await chat('berth-tiny')).status).toBe(200)
    await client.delete(`${deployments}/${id}`)
  })

  test('refused: an unknown LoRA, another organization’s, a whole model, another base, another format', async () => {
    const stranger = await registerClient(server.url)
    const foreign = await addModel('acme/Tiny-LoRA-GGUF', 'foreign', { base_model: 'berth-tiny' }, stranger)
    const peft = await addModel('acme/Small-LoRA', 'other-base', { base_model: 'small' })
    const wrongFormat = await addModel('acme/Tiny-LoRA', 'wrong-format', { base_model: 'berth-tiny' })
    const id = await deploy({ model_name: 'berth-tiny' })
    const refuse = async (adapter: string) => {
      const { status, body } = await setAdapters(id, [adapter])
      expect([status, body.code]).toEqual([422, 'adapter_not_supported'])
      return body.detail as string
    }
    expect(await refuse('no-such-model')).toBe('The catalog has no LoRA with the id "no-such-model".')
    expect(await refuse(foreign)).toBe(`The catalog has no LoRA with the id "${foreign}".`)
    expect(await refuse('berth-tiny-embedding')).toMatch(/is no LoRA/)
    expect(await refuse(peft)).toMatch(/is a LoRA of small, not of berth-tiny/)
    expect(await refuse(wrongFormat)).toMatch(/needs a GGUF LoRA, which wrong-format does not have/)
    expect((await read(id)).adapters).toEqual([])
    expect((await stranger.patch(`${deployments}/${id}`, { adapters: [foreign] })).status).toBe(404)
    await client.delete(`${deployments}/${id}`)
  })
})
