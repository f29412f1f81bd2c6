import { describe, expect, test, vi } from 'vitest'
import type { ModelRuntime } from '../../src/ports/model-runtime.ts'
import type { XinferenceSimulator } from './simulator/simulator.ts'
import {
  makeGpuVariant,
  makeTinyLaunch,
  makeWorker,
  openRuntime,
  openSimulator,
  provision,
  waitForPhase,
  tiny,
} from './support.ts'

async function open(
  options: Parameters<typeof openSimulator>[0] = {},
  changes: Parameters<typeof openRuntime>[1] = {},
): Promise<{ simulator: XinferenceSimulator; runtime: ModelRuntime }> {
  const simulator = await openSimulator(options)
  return { simulator, runtime: await openRuntime([simulator], changes) }
}

const withGpus = { workers: [makeWorker('10.0.0.7', 2)] }
const onGpus = { instanceType: 'xinference-1x23g', gpuCount: 1, contextTokens: 8192, parallelSequences: 4 }

test.each(['2.12.0', '3.5.0'])(
  '%s: a failed launch reports its reason and can be released',
  async (version) => {
    const { simulator, runtime } = await open({ version })
    simulator.plan = { failure: 'Failed to init server, please check the input params.' }
    const spec = await provision(runtime)
    const failed = await waitForPhase(() => runtime.ensureEngine(spec), 'failed')
    expect(failed.message).toContain('Failed to init server')
    expect(await runtime.listEngineIds()).toEqual([])
    expect(await runtime.release(spec.engineId, spec.clusterId)).toBe(true)
  },
)

test('a launch that fails a moment before it says why reports the reason', async () => {
  const { simulator, runtime } = await open()
  simulator.plan = { heldAt: 'loading' }
  const spec = await provision(runtime)
  await runtime.ensureEngine(spec)
  const model = simulator.models.get(spec.modelUid)!
  model.status = 'ERROR'
  setTimeout(() => (model.replicaError = 'Failed to init server'), 100)
  const failed = await runtime.ensureEngine(spec)
  expect(failed).toMatchObject({ phase: 'failed', message: expect.stringContaining('Failed to init server') })
})

describe('launch request', () => {
  test('a GGUF model on a host without GPUs: llama.cpp, size as text, n_gpu null', async () => {
    const { simulator, runtime } = await open()
    const spec = await provision(runtime)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    expect(simulator.models.get(spec.modelUid)?.body).toEqual(makeTinyLaunch(spec))
  })

  test.each([
    [
      {},
      {},
      'vLLM',
      {
        model_size_in_billions: 7,
        max_model_len: 8192,
        max_num_seqs: 4,
        gpu_memory_utilization: 0.9,
        n_gpu: 1,
      },
    ],
    [
      { modelName: 'qwen', engines: { xinference: { modelName: 'qwen2.5-instruct' } } },
      {},
      'vLLM',
      { model_name: 'qwen2.5-instruct' },
    ],
    [{}, { vLLM: 'vllm is not installed' }, 'SGLang', { context_length: 8192 }],
    [{}, { vLLM: 'not installed', SGLang: 'not installed' }, 'Transformers', { n_gpu: 1 }],
    [
      { format: 'awq', sizeInBillions: 1.5, quantization: 'int4' },
      {},
      'vLLM',
      { model_size_in_billions: '1_5' },
    ],
  ])('%o with unavailable engines %o: %s', async (changes, brokenEngines, engine, body) => {
    const { simulator, runtime } = await open(withGpus)
    simulator.brokenEngines = brokenEngines
    const spec = await provision(runtime, makeGpuVariant(changes), onGpus)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    expect(simulator.models.get(spec.modelUid)?.body).toMatchObject({ model_engine: engine, ...body })
  })

  test.each([
    { modelName: 'berth-tiny-embedding', modelType: 'embedding' },
    { modelName: 'reranker', modelType: 'rerank' },
  ] as const)('$modelType: no size', async (changes) => {
    const { simulator, runtime } = await open()
    const spec = await provision(runtime, { ...tiny, ...changes })
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    const body = simulator.models.get(spec.modelUid)?.body
    expect(body).toMatchObject({ model_type: changes.modelType, model_engine: 'llama.cpp' })
    expect(body).not.toHaveProperty('model_size_in_billions')
    const { contextTokens: batch, parallelSequences: slots } = spec
    const options = { n_ctx: batch * slots, n_parallel: slots, n_batch: batch, n_ubatch: batch }
    if (changes.modelType === 'rerank') expect(body).toMatchObject(options)
    else expect(body).not.toHaveProperty('n_ctx')
  })

  test('several workers: worker_ip names the one with capacity', async () => {
    const { simulator, runtime } = await open({
      workers: [makeWorker('10.0.0.7', 1), makeWorker('10.0.0.8', 2)],
    })
    const variant = makeGpuVariant()
    const two = await provision(runtime, variant, { instanceType: 'xinference-2x23g', gpuCount: 2 })
    await waitForPhase(() => runtime.ensureEngine(two), 'ready')
    expect(simulator.models.get(two.modelUid)?.body).toMatchObject({ worker_ip: '10.0.0.8', n_gpu: 2 })
  })
})

describe('progress', () => {
  test.each([
    ['2.12.0', 'pending', { phase: 'starting', message: 'Xinference is preparing to run the model.' }],
    ['2.12.0', 'downloading', { phase: 'downloading', totalBytes: null, fraction: expect.closeTo(0.5) }],
    ['2.12.0', 'loading', { phase: 'starting', message: 'Xinference is loading the model.' }],
    ['3.2.1', 'launching', { phase: 'starting', message: 'Xinference is preparing to run the model.' }],
    ['3.2.1', 'downloading', { phase: 'downloading', receivedBytes: 500_000, totalBytes: 1_000_000 }],
    ['3.2.1', 'loading', { phase: 'starting', message: 'Xinference is loading the model.' }],
  ] as const)('%s, %s', async (version, heldAt, expected) => {
    const { simulator, runtime } = await open({ version })
    simulator.plan = { heldAt }
    const spec = await provision(runtime)
    await runtime.ensureEngine(spec)
    expect(await runtime.ensureEngine(spec)).toMatchObject(expected)
    expect(await runtime.observeEngine(spec.engineId, spec.clusterId)).toMatchObject(expected)
    simulator.proceed(spec.modelUid)
    const ready = await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    expect(ready.endpoint.baseUrl).toBe(simulator.url)
    expect(simulator.calls.filter((call) => call === 'POST /v1/models')).toHaveLength(1)
  })

  test('a stalled download fails, and so does a stalled start', async () => {
    const { simulator, runtime } = await open({}, { stallMs: 50 })
    for (const [heldAt, code] of [
      ['downloading', 'download_failed'],
      ['loading', 'readiness_timeout'],
    ] as const) {
      simulator.plan = { heldAt }
      const spec = await provision(runtime)
      expect(await waitForPhase(() => runtime.ensureEngine(spec), 'failed')).toMatchObject({ code })
    }
  })
})

test('a model that Xinference lists while its engine still loads: starting until the replica is ready', async () => {
  const simulator = await openSimulator()
  const runtime = await openRuntime([simulator])
  const spec = await provision(runtime)
  const path = `/v1/models/${spec.modelUid}/replicas`
  const replica = { replica_id: 0, status: 'CREATING', error_message: null }
  simulator.intercept = (request) =>
    request.path === path && simulator.models.get(spec.modelUid)?.status === 'READY'
      ? { status: 200, body: [replica] }
      : undefined
  await runtime.ensureEngine(spec)
  await vi.waitUntil(() => simulator.models.get(spec.modelUid)?.status === 'READY', 20_000)
  const message = 'Xinference is loading the model.'
  expect(await runtime.ensureEngine(spec)).toEqual({ phase: 'starting', message })
  replica.status = 'READY'
  expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'ready' })
})

describe('failures', () => {
  test.each([
    [
      'Free memory on device (2.1/23.6 GiB) on startup is less than desired GPU memory utilization',
      'out_of_memory',
      'model_launch',
    ],
    ['CUDA out of memory. Tried to allocate 2.00 GiB', 'out_of_memory', 'model_launch'],
    ['No available memory for the cache blocks', 'out_of_memory', 'model_launch'],
    ['OSError: [Errno 28] No space left on device', 'disk_full', 'model_download'],
    ["Failed to download model 'x' after multiple retries", 'download_failed', 'model_download'],
    ['Requested GPUs exceed the number of available devices', 'no_capacity', 'model_launch'],
    [
      'Remote server 127.0.0.1:45770 closed: 0 bytes read on a total of 11 expected',
      'engine_crashed',
      'runtime',
    ],
    ["[Errno 111] Connect call failed ('127.0.0.1', 45770)", 'engine_crashed', 'runtime'],
    ['Something else', 'launch_rejected', 'model_launch'],
  ])('%s', async (failure, code, stage) => {
    for (const version of ['2.12.0', '4.1.0']) {
      const { simulator, runtime } = await open({ version })
      simulator.plan = { failure }
      const spec = await provision(runtime)
      const observation = await waitForPhase(() => runtime.ensureEngine(spec), 'failed')
      const message = `Xinference could not run the model: ${failure}.`
      const lost = code === 'engine_crashed' ? { lostAt: 'unknown' } : {}
      expect(observation).toEqual({ phase: 'failed', code, stage, message, ...lost })
      expect(await runtime.ensureEngine(spec), 'not launched again automatically').toMatchObject({
        code,
        message,
      })
      expect(simulator.calls.filter((call) => call === 'POST /v1/models')).toHaveLength(1)
    }
  })

  test('a model or variant that Xinference does not have', async () => {
    const { runtime } = await open()
    for (const changes of [{ modelName: 'nobody' }, { quantization: 'Q2_K' }]) {
      const spec = await provision(runtime, { ...tiny, ...changes })
      expect(await waitForPhase(() => runtime.ensureEngine(spec), 'failed')).toMatchObject({
        code: 'model_not_found',
      })
    }
  })

  test('a spec that only the worker rejects: fails after the launch was accepted', async () => {
    const { simulator, runtime } = await open()
    const body = { 'llama.cpp': [{ model_format: 'ggufv2', quantizations: ['Q2_K'] }] }
    simulator.intercept = ({ path }) => (path.startsWith('/v1/engines/') ? { status: 200, body } : undefined)
    const spec = await provision(runtime, { ...tiny, quantization: 'Q2_K' })
    expect((await runtime.ensureEngine(spec)).phase).toBe('starting')
    expect(await waitForPhase(() => runtime.ensureEngine(spec), 'failed')).toMatchObject({
      code: 'model_not_found',
    })
  })

  test('no suitable engine: the message gives the reasons', async () => {
    const { simulator, runtime } = await open(withGpus)
    const reasons = { vLLM: 'vllm is not installed', SGLang: 'no GPU', Transformers: 'too old' }
    simulator.brokenEngines = reasons
    const spec = await provision(runtime, makeGpuVariant(), onGpus)
    expect(await runtime.ensureEngine(spec)).toMatchObject({
      code: 'launch_rejected',
      message: expect.stringContaining('vLLM: vllm is not installed; SGLang: no GPU; Transformers: too old'),
    })
  })

  test.each([
    [400, 'Model berth-tiny cannot be run on engine llama.cpp, format ggufv2.', 'launch_rejected'],
    [503, 'No available slot found for the model', 'no_capacity'],
    [400, 'The parameter `n_gpu` must be greater than 0 and not greater than 1', 'no_capacity'],
    [499, 'Launch cancelled', 'launch_rejected'],
    [403, 'API keys can only access model query and inference endpoints', 'launch_rejected'],
  ])('a launch answered with %i %s', async (status, detail, code) => {
    const { simulator, runtime } = await open()
    const spec = await provision(runtime)
    simulator.intercept = ({ method, path }) =>
      method === 'POST' && path === '/v1/models'
        ? { status, body: { detail: `[address=10.0.0.1:33, pid=5] ${detail}` } }
        : undefined
    const observation = await runtime.ensureEngine(spec)
    expect(observation).toMatchObject({ phase: 'failed', code })
    expect(JSON.stringify(observation)).not.toContain('address=')
  })

  test('an engine that dies: engine_crashed, and launched again after stopEngine', async () => {
    const { simulator, runtime } = await open()
    const spec = await provision(runtime)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    simulator.crash(spec.modelUid, 'a defect')
    expect(await runtime.observeEngine(spec.engineId, spec.clusterId)).toMatchObject({
      phase: 'failed',
      code: 'engine_crashed',
      stage: 'runtime',
    })
    await vi.waitUntil(() => runtime.stopEngine(spec.engineId, spec.clusterId), 20_000)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    expect(simulator.calls.filter((call) => call === 'POST /v1/models')).toHaveLength(2)
  })
})

describe('the uid already exists', () => {
  test('from a launch whose response was lost: the model is adopted', async () => {
    const { simulator, runtime } = await open({}, { responseTimeoutMs: 1_000 })
    const spec = await provision(runtime)
    const other = await openRuntime([simulator])
    await waitForPhase(() => other.ensureEngine(spec), 'ready')
    // Hides the model from the first observation, so that ensureEngine launches it.
    let observations = 0
    simulator.intercept = ({ path }) => {
      if (path === '/v1/models/instances' && observations++ === 0) return { status: 200, body: [] }
      if (path === `/v1/models/${spec.modelUid}` && observations === 1)
        return { status: 400, body: { detail: 'not found' } }
      return undefined
    }
    expect((await waitForPhase(() => runtime.ensureEngine(spec), 'ready')).endpoint.baseUrl).toBe(
      simulator.url,
    )
    expect(simulator.models.size).toBe(1)
  })

  test('from a model that is not ours', async () => {
    const { simulator, runtime } = await open()
    const spec = await provision(runtime)
    simulator.intercept = ({ method, path }) => {
      if (method === 'POST')
        return { status: 400, body: { detail: 'Model is already in the model list, uid: x' } }
      const isDescribe = path === `/v1/models/${spec.modelUid}`
      if (!isDescribe || !simulator.calls.includes('POST /v1/models')) return undefined
      return { status: 200, body: { model_name: 'llama-3' } }
    }
    expect(await runtime.ensureEngine(spec)).toMatchObject({
      code: 'launch_rejected',
      message: expect.stringContaining('llama-3'),
    })
  })
})

describe('release', () => {
  test('a running model, and an unknown one', async () => {
    const { simulator, runtime } = await open()
    const spec = await provision(runtime)
    expect(await runtime.release(spec.engineId, spec.clusterId)).toBe(true)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    expect(await runtime.listEngineIds()).toEqual([spec.engineId])
    await vi.waitUntil(() => runtime.release(spec.engineId, spec.clusterId), 20_000)
    expect(simulator.models.get(spec.modelUid)?.status).toBe('TERMINATED')
    expect(await runtime.observeEngine(spec.engineId, spec.clusterId)).toMatchObject({ phase: 'absent' })
  })

  test('a launching model: cancelled, then terminated', async () => {
    const { simulator, runtime } = await open()
    simulator.plan = { heldAt: 'downloading' }
    const spec = await provision(runtime)
    await runtime.ensureEngine(spec)
    await vi.waitUntil(() => runtime.release(spec.engineId, spec.clusterId), 20_000)
    expect(simulator.calls).toContain(`POST /v1/models/${spec.modelUid}/cancel`)
    expect(simulator.models.get(spec.modelUid)?.status).toBe('ERROR')
    expect(await runtime.listEngineIds()).toEqual([])
  })

  test('not confirmed while the model still runs or the supervisor fails', async () => {
    const { simulator, runtime } = await open()
    const spec = await provision(runtime)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    simulator.intercept = ({ method }) =>
      method === 'DELETE' ? { status: 500, body: 'Internal Server Error' } : undefined
    await expect(runtime.release(spec.engineId, spec.clusterId)).rejects.toThrow('could not terminate')
    simulator.intercept = ({ method }) => (method === 'DELETE' ? { status: 200, body: null } : undefined)
    expect(await runtime.release(spec.engineId, spec.clusterId)).toBe(false)
    simulator.intercept = null
    await vi.waitUntil(() => runtime.release(spec.engineId, spec.clusterId), 20_000)
  })
})

test('listEngineIds: only models of Berth', async () => {
  const { simulator, runtime } = await open()
  const id = '0197b2c0-0000-7000-8000-000000000001'
  const names = ['dep-x', 'qwen', `dep-${id}`, `my-dep-${id}`, `dep-${id.toUpperCase()}`]
  simulator.intercept = ({ path }) =>
    path === '/v1/models' ? { status: 200, body: { data: names.map((name) => ({ id: name })) } } : undefined
  expect(await runtime.listEngineIds()).toEqual([id])
})

test('logs are the events of the model, and continue after it failed', async () => {
  const { simulator, runtime } = await open({}, { followIntervalMs: 20 })
  const spec = await provision(runtime)
  await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
  const stop = new AbortController()
  const followed = runtime.logs.follow(spec.engineId, 1, stop.signal)[Symbol.asyncIterator]()
  expect((await followed.next()).value?.line).toBe('INFO: Model is ready')
  const next = followed.next()
  const before = await runtime.logs.read(spec.engineId, 10)
  expect(before.map(({ line }) => line)).toEqual(['INFO: Launch model', 'INFO: Model is ready'])
  simulator.crash(spec.modelUid, 'died')
  expect((await next).value?.line).toMatch(/^ERROR: .*died$/)
  stop.abort()
  expect((await followed.next()).done).toBe(true)
  expect(await runtime.logs.read(spec.engineId, 1)).toHaveLength(1)
})
