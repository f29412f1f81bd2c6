import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { EngineSpec, ModelRuntime } from '../../../src/ports/model-runtime.ts'
import { makeInstanceTypes, makeSpec, provision, waitForRelease, waitOptions } from '../cluster/support.ts'
import { nodeCommand, openNodeTestBed, sendChat } from './support.ts'
import type { NodeTestBed } from './support.ts'
import { openVllm, vllmImage, vllmPatience } from './vllm-pods.ts'
import type { WeightServer } from './weight-server.ts'

describe.skipIf(nodeCommand === undefined || vllmImage === '')('vLLM in a pod', () => {
  let testBed: NodeTestBed
  let weights: WeightServer
  let runtime: ModelRuntime
  let spec: EngineSpec
  let baseUrl: string

  beforeAll(async () => {
    testBed = await openNodeTestBed()
    const { hub, nodeSelector } = await openVllm(testBed)
    weights = hub
    runtime = await testBed.open({
      images: { vllm: vllmImage, llamaCpp: '' },
      instanceTypes: makeInstanceTypes('').map((type) => Object.assign(type, { nodeSelector })),
      huggingFace: { endpoint: hub.url, token: null },
      modelCache: { kind: 'empty_dir', sizeLimit: '1Gi' },
    })
    spec = makeSpec()
    Object.assign(spec.variant, {
      format: 'pytorch',
      weights: { kind: 'huggingface', repo: 'berth/tiny', revision: 'main', files: [] },
      // Compiling for the CPU takes minutes and a compiler.
      engines: { vllm: { toolParser: 'hermes', options: { 'enforce-eager': true } } },
    })
    await provision(runtime, spec)
    baseUrl = await vi.waitUntil(async () => {
      const engine = await runtime.ensureEngine(spec)
      if (engine.phase === 'failed') {
        const lines = await runtime.logs.read(spec.engineId, 400)
        expect.fail(`${engine.message}\n${lines.map(({ line }) => line).join('\n')}`)
      }
      return engine.phase === 'ready' && engine.endpoint.baseUrl
    }, vllmPatience)
  }, 900_000)
  afterAll(async () => {
    if (spec !== undefined) await waitForRelease(runtime, spec.engineId)
    await weights?.close()
    await testBed?.close()
  })

  const question = {
    messages: [{ role: 'user', content: 'What is 27 + 15?' }],
    temperature: 0,
    max_tokens: 32,
  }

  async function readMetric(name: string): Promise<number> {
    const text = await (await fetch(`${baseUrl}/metrics`)).text()
    return Number(new RegExp(`^vllm:${name}\\{.*\\} (\\S+)$`, 'm').exec(text)?.[1])
  }

  test('downloads the model from the Hub, answers chats and requires the key', async () => {
    expect(weights.requests).toContainEqual(expect.stringMatching(/\/resolve\/\w+\/model\.safetensors$/))
    const answer = await sendChat(baseUrl, spec, question)
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({
      model: spec.modelUid,
      choices: [{ message: { content: '27 + 15 = 42.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 14, completion_tokens: 14 },
    })
    expect((await sendChat(baseUrl, spec, question, 'wrong')).status).toBe(401)
  })

  test('streams with the usage in the last chunk', async () => {
    const options = { stream: true, stream_options: { include_usage: true } }
    const answer = await sendChat(baseUrl, spec, { ...question, ...options })
    expect(await answer.text()).toMatch(/"content":"2"[^]*"usage":\{"prompt_tokens":14[^]*data: \[DONE\]\n/)
  })

  test('a caller that leaves ends the generation', async () => {
    const before = await readMetric('generation_tokens_total')
    // One answer of the tiny model could be complete before vLLM notices.
    const long = { ...question, stream: true, n: 16, max_tokens: 450, ignore_eos: true }
    const reader = (await sendChat(baseUrl, spec, long)).body?.getReader()
    await reader?.read()
    await reader?.cancel()
    await vi.waitFor(async () => expect(await readMetric('num_requests_running')).toBe(0), waitOptions)
    expect((await readMetric('generation_tokens_total')) - before).toBeLessThan(16 * 450)
  })
})
