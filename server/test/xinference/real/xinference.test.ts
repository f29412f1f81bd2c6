import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { SupervisorError } from '../../../src/adapters/model-runtime/xinference/errors.ts'
import { createXinferenceRuntime } from '../../../src/adapters/model-runtime/xinference/runtime.ts'
import { withWarmUp } from '../../../src/adapters/model-runtime/warm-up.ts'
import { mainProtocols } from '../../../src/features/inference/protocols/protocols.ts'
import type { EngineObservation, EngineSpec, ModelRuntime } from '../../../src/ports/model-runtime.ts'
import type { ModelVariant } from '../../../src/ports/model-variant.ts'
import { makeSpec, makeVariant } from '../../adapters/local-runtime-support.ts'
import { collectAnswers } from '../answers.ts'
import { describeChatModel, describeEmbeddingModel, openCluster } from './cluster.ts'
import type { XinferenceCluster } from './cluster.ts'

const waitOptions = { timeout: 400_000, interval: 500 }
const major = (process.env['TEST_XINFERENCE_VERSION'] ?? '').split('.')[0]
const chatVariant = makeVariant({ kind: 'file', path: 'x' }, { sizeInBillions: 0.002, quantization: 'Q8_0' })
const embeddingVariant = makeVariant(
  { kind: 'file', path: 'x' },
  { modelName: 'berth-tiny-embedding', modelType: 'embedding', quantization: 'Q8_0' },
)

describe('a real Xinference', () => {
  let cluster: XinferenceCluster
  let runtime: ModelRuntime
  beforeAll(async () => {
    cluster = await openCluster()
    await cluster.startSupervisor()
    await cluster.startWorker()
    await cluster.register('LLM', describeChatModel(cluster.folder))
    await cluster.register('LLM', describeChatModel(cluster.folder, 'berth-broken', 'broken.gguf'))
    await cluster.register('embedding', describeEmbeddingModel(cluster.folder))
    const settings = {
      supervisors: [{ origin: cluster.url, credentials: null }],
      instanceTypes: [],
      gpuMemoryShare: 0.9,
      uploads: null,
    }
    runtime = withWarmUp(
      await createXinferenceRuntime({
        ...settings,
        logger: { info() {}, warn() {} },
        responseTimeoutMs: 60_000,
      }),
      mainProtocols,
    )
  })
  afterEach(async () => {
    // A supervisor lists nothing while it knows a dead worker.
    const ids = await vi.waitFor(() => runtime.listEngineIds(), waitOptions)
    for (const id of ids) await waitForRelease(id)
  })
  afterAll(async () => {
    await runtime?.close()
    await cluster?.close()
  })

  async function waitForRelease(id: string) {
    await vi.waitFor(async () => expect(await runtime.release(id, cluster.url)).toBe(true), waitOptions)
  }

  async function provision(variant = chatVariant, changes: Partial<EngineSpec> = {}): Promise<EngineSpec> {
    const made = makeSpec(variant, { instanceType: 'xinference-cpu', ...changes })
    const spec = { ...made, servedModelName: runtime.nameModel!(made) }
    const result = await runtime.provision(spec)
    if (result.outcome !== 'provisioned') throw new Error(result.message)
    return { ...spec, clusterId: result.instance.clusterId }
  }

  async function waitForPhase<Phase extends EngineObservation['phase']>(
    observe: () => Promise<EngineObservation>,
    ...phases: Phase[]
  ): Promise<Extract<EngineObservation, { phase: Phase }>> {
    const seen = await vi.waitFor(async () => {
      const seen = await observe()
      if (seen.phase === 'failed') return seen
      if (!phases.some((phase) => phase === seen.phase))
        throw new Error(`expected ${phases.join()}, got ${JSON.stringify(seen)}`)
      return seen
    }, waitOptions)
    expect(phases, JSON.stringify(seen)).toContain(seen.phase)
    return seen as Extract<EngineObservation, { phase: Phase }>
  }

  async function start(variant = chatVariant, changes: Partial<EngineSpec> = {}): Promise<EngineSpec> {
    const spec = await provision(variant, changes)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    return spec
  }

  function send(path: string, body: Record<string, unknown>, signal?: AbortSignal) {
    return fetch(`${cluster.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    })
  }
  const chat = (spec: EngineSpec, more: Record<string, unknown> = {}, signal?: AbortSignal) => {
    const messages = [{ role: 'user', content: 'Hi' }]
    return send('/v1/chat/completions', { model: spec.modelUid, messages, max_tokens: 8, ...more }, signal)
  }

  test('a chat model is launched, answers, streams its usage, survives an abort, and ends', async () => {
    const spec = await start()
    const answer = await chat(spec)
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({
      choices: [{ message: { role: 'assistant', content: expect.any(String) } }],
      usage: { prompt_tokens: expect.any(Number), completion_tokens: expect.any(Number) },
    })
    const stream = await chat(spec, { stream: true, stream_options: { include_usage: true } })
    expect(await stream.text()).toMatch(/"choices": ?\[\], "usage": ?\{[^]*data: \[DONE\]/)
    const abort = new AbortController()
    const aborted = await chat(spec, { stream: true, max_tokens: 400 }, abort.signal)
    await aborted.body?.getReader().read()
    abort.abort()
    expect((await chat(spec)).status).toBe(200)
    expect(await runtime.listEngineIds()).toEqual([spec.engineId])
    await waitForRelease(spec.engineId)
    expect(await runtime.listEngineIds()).toEqual([])
    expect((await chat(spec)).status).toBeGreaterThanOrEqual(400)
  })

  test('an embedding model pools as its file says, here by the mean', async () => {
    const readEmbedding = async (changes: Partial<ModelVariant>) => {
      const spec = await start({ ...embeddingVariant, ...changes })
      const answer = await send('/v1/embeddings', { model: spec.modelUid, input: ['one two', 'three'] })
      const { data } = (await answer.json()) as { data: { embedding: number[]; index: number }[] }
      expect(data[1]).toMatchObject({ index: 1, embedding: expect.any(Array) })
      return data[0]!.embedding
    }
    const pool = (pooling_type: number) =>
      readEmbedding({ engines: { xinference: { options: { pooling_type } } } })
    const [mean, last] = [1, 3]
    const seen = await readEmbedding({})
    const compare = (other: number[]) => seen.reduce((sum, value, index) => sum + value * other[index]!, 0)
    expect(compare(await pool(mean))).toBeCloseTo(1, 3)
    expect(compare(await pool(last))).toBeLessThan(0.99)
  })

  // Before workers die: the supervisor answers 500 while it knows a dead one.
  test('its answers have the recorded shapes, which the simulator follows', async () => {
    const spec = await start()
    const answers = await collectAnswers(cluster.url, spec.modelUid)
    const file = join(import.meta.dirname, `../recordings/${major}.json`)
    if (process.env['RECORD'] === 'yes') await writeFile(file, `${JSON.stringify(answers, null, 2)}\n`)
    expect(answers).toEqual(JSON.parse(await readFile(file, 'utf8')))
  })

  test('an unknown model and one with a broken file fail with a reason', async () => {
    const unknown = await provision({ ...chatVariant, modelName: 'unknown' })
    expect(await waitForPhase(() => runtime.ensureEngine(unknown), 'failed')).toMatchObject({
      code: 'model_not_found',
      message: expect.stringContaining('unknown'),
    })
    const broken = await provision({ ...chatVariant, modelName: 'berth-broken' })
    const failed = await waitForPhase(() => runtime.ensureEngine(broken), 'failed')
    expect(failed).toMatchObject({
      stage: 'model_launch',
      message: expect.stringMatching(/^Xinference could not run/),
    })
    await waitForRelease(broken.engineId)
  })

  test('a killed worker: the loss is noticed, and the model starts again on a new worker', async () => {
    const spec = await start()
    await cluster.killWorker()
    const observe = () => runtime.observeEngine(spec.engineId, cluster.url)
    const seen = await waitForPhase(observe, 'absent', 'failed')
    console.log('after a killed worker:', JSON.stringify(seen))
    await cluster.startWorker()
    await vi.waitFor(
      async () => expect(await runtime.stopEngine(spec.engineId, cluster.url)).toBe(true),
      waitOptions,
    )
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    expect((await chat(spec)).status).toBe(200)
  })

  test('a restarted supervisor: models are launched again once a worker has joined', async () => {
    const spec = await start()
    await cluster.killSupervisor()
    const observe = () => runtime.observeEngine(spec.engineId, cluster.url)
    expect(await waitForPhase(observe, 'unreachable')).toMatchObject({
      message: expect.stringMatching(/^Xinference is unreachable: /),
    })
    await cluster.startSupervisor()
    console.log('after a restarted supervisor:', JSON.stringify(await observe()))
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    expect((await chat(spec)).status).toBe(200)
  })

  test('a second worker: a launch can name it, and the model of a dead worker is not gone at once', async () => {
    await cluster.startWorker('127.0.0.2')
    const spec = await start()
    expect((await chat(spec)).status).toBe(200)
    const { address } = (await (await fetch(`${cluster.url}/v1/models/${spec.modelUid}`)).json()) as {
      address: string
    }
    await cluster.killWorker(address.split(':')[0])
    const ids = await runtime.listEngineIds().catch((error: unknown) => error)
    console.log('after a dead worker of two:', String(ids))
    if (Array.isArray(ids)) expect(ids).toEqual([spec.engineId])
    else expect(ids).toBeInstanceOf(SupervisorError)
  })
})
