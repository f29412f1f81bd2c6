import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { EngineSpec } from '../../../src/ports/model-runtime.ts'
import {
  makeSpec,
  provision,
  startEngine,
  waitForPhase,
  waitForRelease,
  waitOptions,
} from '../cluster/support.ts'
import { limitMemory } from './memory-limit.ts'
import { makeFileSpec, nodeCommand, openNodeTestBed, sendChat } from './support.ts'
import type { NodeTestBed } from './support.ts'

describe.skipIf(nodeCommand === undefined)('engines on real nodes', () => {
  let testBed: NodeTestBed
  beforeAll(async () => {
    testBed = await openNodeTestBed()
  })
  afterEach(async () => {
    for (const id of await testBed.runtime.listEngineIds()) await waitForRelease(testBed.runtime, id)
  })
  afterAll(() => testBed?.close())

  const withWeights = (weights: EngineSpec['variant']['weights']): EngineSpec => {
    const spec = makeSpec()
    return { ...spec, variant: { ...spec.variant, weights } }
  }
  const hub = (repo: string, revision = 'main', file = 'tiny.gguf') =>
    withWeights({ kind: 'huggingface', repo, revision, files: [file] })

  const sources: [string, () => EngineSpec][] = [
    ['a local file', () => makeFileSpec()],
    ['the Hub', () => hub('berth/tiny')],
    ['a pinned revision', () => hub('berth/tiny', 'b'.repeat(40))],
    [
      'a URL',
      () => withWeights({ kind: 'url', url: `${testBed.weights.url}/berth/tiny/resolve/x/tiny.gguf` }),
    ],
  ]
  test.each(sources)(
    'weights from %s: llama-server loads the model and answers chats',
    async (_name, make) => {
      const spec = make()
      const { provisioned, baseUrl } = await startEngine(testBed.runtime, spec)
      expect(provisioned).toMatchObject({
        outcome: 'provisioned',
        instance: { gpuAllocationId: expect.stringMatching(/^\S+: 1 x NVIDIA L4$/) },
      })
      const answer = await sendChat(baseUrl, spec)
      expect(answer.status).toBe(200)
      expect(await answer.json()).toMatchObject({
        model: spec.servedModelName,
        usage: { completion_tokens: expect.any(Number) },
      })
      expect((await sendChat(baseUrl, spec, {}, 'wrong')).status).toBe(401)
      const stream = await sendChat(baseUrl, spec, { stream: true, stream_options: { include_usage: true } })
      expect(await stream.text()).toMatch(/"completion_tokens":\d+[^]*data: \[DONE\]/)
      const lines = await testBed.runtime.logs.read(spec.engineId, 50)
      expect(lines.map(({ line }) => line).join('\n')).toMatch(/listening on http:\/\/0\.0\.0\.0:8000/)
    },
  )

  const downloadFailures: [string, () => EngineSpec, string, RegExp][] = [
    ['an unknown repository', () => hub('berth/answers-404'), 'model_not_found', /GET failed \(404\)/],
    [
      'an unknown file',
      () => hub('berth/tiny', 'main', 'other.gguf'),
      'model_not_found',
      /'other\.gguf' not found/,
    ],
    ['a gated repository', () => hub('berth/answers-403'), 'download_failed', /HF_TOKEN.*GET failed \(403\)/],
    ['a wrong token', () => hub('berth/answers-401'), 'download_failed', /HF_TOKEN.*GET failed \(401\)/],
    ['an outage of the Hub', () => hub('berth/answers-503'), 'download_failed', /GET failed \(503\)/],
    [
      'nothing at a URL',
      () => withWeights({ kind: 'url', url: `${testBed.weights.url}/berth/answers-404/tiny.gguf` }),
      'model_not_found',
      /status code: 404/,
    ],
    [
      'nobody at a URL',
      () => withWeights({ kind: 'url', url: testBed.weights.url.replace(/\d+$/, '1/tiny.gguf') }),
      'download_failed',
      /could not be downloaded/,
    ],
  ]
  test.each(downloadFailures)(
    '%s: fails with the line of llama-server',
    async (_name, make, code, message) => {
      const spec = make()
      await provision(testBed.runtime, spec)
      const seen = await waitForPhase(() => testBed.runtime.ensureEngine(spec), 'failed')
      expect(seen).toMatchObject({ stage: 'model_download', code, message: expect.stringMatching(message) })
    },
  )

  test('a crash is restarted by the kubelet; an engine that keeps crashing fails', async () => {
    const spec = makeFileSpec()
    const { baseUrl } = await startEngine(testBed.runtime, spec)
    const crash = async () => {
      const pod = await testBed.findPod(spec.engineId)
      await testBed.runOnNode(pod.spec?.nodeName ?? '', 'pkill -KILL -x llama-server')
    }
    await crash()
    const restarting = await waitForPhase(() => testBed.runtime.observeEngine(spec.engineId), 'starting')
    expect(restarting.message).toMatch(/was killed \(exit code 137\)/)
    await waitForPhase(() => testBed.runtime.ensureEngine(spec), 'ready')
    expect((await sendChat(baseUrl, spec)).status).toBe(200)
    const crashing = setInterval(() => void crash().catch(() => {}), 500)
    const failed = await waitForPhase(() => testBed.runtime.observeEngine(spec.engineId), 'failed')
    clearInterval(crashing)
    expect(failed).toMatchObject({
      code: 'engine_crashed',
      message: expect.stringMatching(/^The engine keeps crashing with exit code 137\. Last log line: .*\.$/),
    })
  })

  test('an engine that uses more memory than its pod may: out_of_memory', async (context) => {
    const endPolicy = await limitMemory(testBed.cluster, '512Mi')
    if (endPolicy === null) return context.skip('This cluster can not limit the memory of pods by a policy.')
    // The cache of 800,000 tokens needs 2 GB.
    const spec = { ...makeFileSpec(), contextTokens: 200_000, parallelSequences: 4 }
    await provision(testBed.runtime, spec)
    const seen = await waitForPhase(() => testBed.runtime.ensureEngine(spec), 'failed')
    await endPolicy()
    expect(seen).toEqual({
      phase: 'failed',
      stage: 'runtime',
      code: 'out_of_memory',
      message: 'The engine was killed because it used more memory than its pod or node has.',
    })
  })

  test('an engine that asks for more memory than its node has: out_of_memory', async () => {
    const spec = { ...makeFileSpec(), contextTokens: 4_000_000, parallelSequences: 4 }
    await provision(testBed.runtime, spec)
    expect(await waitForPhase(() => testBed.runtime.ensureEngine(spec), 'failed')).toMatchObject({
      stage: 'model_launch',
      code: 'out_of_memory',
      message: expect.stringMatching(/more memory than .*failed to allocate/),
    })
  })

  test('an image that does not exist: the message of the kubelet', async () => {
    const images = { vllm: '', llamaCpp: '127.0.0.1:1/llama-server:none' }
    const runtime = await testBed.open({ images })
    const spec = makeFileSpec()
    await provision(runtime, spec)
    await vi.waitFor(async () => {
      expect(await runtime.observeEngine(spec.engineId)).toMatchObject({
        phase: 'starting',
        message: expect.stringMatching(
          /^The engine is waiting on node \S+: .*127\.0\.0\.1:1\/llama-server:none/,
        ),
      })
    }, waitOptions)
  })

  test('a followed log continues over a restart of the container', async () => {
    const spec = makeFileSpec()
    await startEngine(testBed.runtime, spec)
    const stop = new AbortController()
    const starts: string[] = []
    const following = (async () => {
      for await (const { line } of testBed.runtime.logs.follow(spec.engineId, 200, stop.signal)) {
        if (line.includes('listening on')) starts.push(line)
      }
    })()
    await vi.waitFor(() => expect(starts).toHaveLength(1), { timeout: 20_000 })
    const pod = await testBed.findPod(spec.engineId)
    await testBed.runOnNode(pod.spec?.nodeName ?? '', 'pkill -KILL -x llama-server')
    await vi.waitFor(() => expect(starts).toHaveLength(2), waitOptions)
    stop.abort()
    await following
  })
})
