import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { EngineSpec, ModelRuntime } from '../../src/ports/model-runtime.ts'
import type { ModelVariant } from '../../src/ports/model-variant.ts'
import { makeVariant } from '../adapters/local-runtime-support.ts'
import { listen } from '../support/listen.ts'
import type { XinferenceSimulator } from './simulator/simulator.ts'
import {
  makeTinyLaunch,
  makeWorker,
  openRuntime,
  openSimulator,
  provision,
  tiny,
  waitForPhase,
} from './support.ts'

const file = Buffer.from('the bytes of a model')
const sha256 = createHash('sha256').update(file).digest('hex')
const name = `berth-LLM-${sha256.slice(0, 16)}`
const weights = { kind: 'upload', sha256, fileName: 'mine-Q8_0.gguf' } as const
const upload = makeVariant(weights, { modelName: 'mine', sizeInBillions: 0.002, quantization: 'Q8_0' })
const deploymentId = '0198a000-0000-7000-8000-000000000001'
const fileKey = 'secret-key'

let serverUrl: string
let simulator: XinferenceSimulator
let runtime: ModelRuntime
beforeEach(async () => {
  const authorization = `Basic ${Buffer.from(`${deploymentId}:${fileKey}`).toString('base64')}`
  const server = createServer((request, response) => {
    if (request.headers.authorization === authorization) response.end(file)
    else response.writeHead(401).end()
  })
  serverUrl = `http://127.0.0.1:${await listen(server)}`
  onTestFinished(() => void server.close())
  simulator = await openSimulator()
  runtime = await openRuntime([simulator], { uploads: { serverUrl, folder: '/var/models' } })
})
afterEach(() => vi.restoreAllMocks())

const provisionUpload = (changes: Partial<EngineSpec> = {}, variant: ModelVariant = upload) =>
  provision(runtime, variant, { deploymentId, fileKey, ...changes })

async function start(spec: EngineSpec): Promise<void> {
  await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
}

describe('the launch of an uploaded file', () => {
  test('names the address of the file with its key, and nothing stays registered', async () => {
    const spec = await provisionUpload()
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'starting' })
    expect(simulator.registered.get(name)).toMatchObject({ chat_template: '', type: 'LLM' })
    await start(spec)
    expect(simulator.registered.size).toBe(0)
    expect(simulator.models.get(spec.modelUid)?.body).toEqual({
      ...makeTinyLaunch(spec),
      model_name: name,
      model_path: '/dev/null',
      'model.url': `http://${deploymentId}:${fileKey}@${new URL(serverUrl).host}/api/v1/model-files/${sha256}.gguf`,
      'model.path': `/var/models/${sha256}.gguf`,
      n_gpu_layers: 0,
    })
  })

  test('on a GPU, all layers are there', async () => {
    simulator.workers = [makeWorker('10.0.0.7', 1)]
    const spec = await provisionUpload({ instanceType: 'xinference-1x23g', gpuCount: 1 })
    await start(spec)
    expect(simulator.models.get(spec.modelUid)?.body).toMatchObject({ n_gpu: 1, n_gpu_layers: 9999 })
  })

  test.each(['embedding', 'rerank'] as const)(
    'of the type %s, in the format of that type',
    async (modelType) => {
      const spec = await provisionUpload({}, { ...upload, modelType })
      await runtime.ensureEngine(spec)
      expect(simulator.registered.get(`berth-${modelType}-${sha256.slice(0, 16)}`)?.['type']).toBe(modelType)
      await start(spec)
      const { body } = simulator.models.get(spec.modelUid)!
      const options = {
        n_ubatch: spec.contextTokens,
        'model.path': `/var/models/${sha256}.gguf`,
        n_gpu_layers: 0,
      }
      if (modelType === 'rerank') expect(body).toMatchObject(options)
      else expect(body['llamacpp_model_config']).toMatchObject({ ...options, pooling_type: -1 })
    },
  )

  test('fails with a wrong key, without telling it', async () => {
    const spec = await provisionUpload({ fileKey: 'wrong-key' })
    const failed = await waitForPhase(() => runtime.ensureEngine(spec), 'failed')
    expect(failed).toMatchObject({
      stage: 'model_download',
      code: 'download_failed',
      message: expect.stringContaining('could not download the uploaded file'),
    })
    expect(await runtime.release(spec.engineId, spec.clusterId)).toBe(true)
    expect(simulator.registered.size).toBe(0)
  })

  test('fails with the same explanation if Xinference gives no reason', async () => {
    simulator.plan = { heldAt: 'loading' }
    const spec = await provisionUpload()
    await runtime.ensureEngine(spec)
    simulator.models.get(spec.modelUid)!.status = 'ERROR'
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'failed', code: 'download_failed' })
  })

  test('never shows the key in an error or in the log of the engine', async () => {
    simulator.plan = { failure: `Failed to fetch http://user:${fileKey}@10.0.0.1/x.gguf` }
    const spec = await provisionUpload()
    const { message } = await waitForPhase(() => runtime.ensureEngine(spec), 'failed')
    const lines = await runtime.logs.read(spec.engineId, 10)
    expect(message).toContain('http://10.0.0.1/x.gguf')
    expect(JSON.stringify([message, lines])).not.toContain(fileKey)
  })

  test('that Xinference refuses leaves nothing registered', async () => {
    const spec = await provisionUpload()
    simulator.brokenEngines = { 'llama.cpp': 'xllamacpp is not installed' }
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'failed', code: 'launch_rejected' })
    expect(simulator.registered.size).toBe(0)
  })
})

describe('engines of the same file', () => {
  test('download it one after the other', async () => {
    simulator.plan = { heldAt: 'downloading' }
    const [one, other] = [await provisionUpload(), await provisionUpload()]
    await Promise.all([runtime.ensureEngine(one), runtime.ensureEngine(other)])
    const [first, second] = simulator.models.has(one.modelUid) ? [one, other] : [other, one]
    const waiting = { phase: 'starting', message: expect.stringContaining('another engine has downloaded') }
    expect(await runtime.ensureEngine(second)).toMatchObject(waiting)
    expect([...simulator.models.keys()]).toEqual([first.modelUid])
    simulator.plan = {}
    simulator.proceed(first.modelUid)
    await start(first)
    await start(second)
    expect(simulator.registered.size).toBe(0)
  })

  test('continue after the release of the one that downloads it, also by another process', async () => {
    simulator.plan = { heldAt: 'downloading' }
    const [first, second] = [await provisionUpload(), await provisionUpload()]
    await runtime.ensureEngine(first)
    expect(await runtime.ensureEngine(second)).toMatchObject({ phase: 'starting' })
    simulator.plan = {}
    const other = await openRuntime([simulator], { uploads: { serverUrl, folder: '/var/models' } })
    await vi.waitUntil(() => other.release(first.engineId, first.clusterId))
    expect(simulator.registered.size).toBe(0)
    await start(second)
  })

  test('continue after a crash between the registration and the launch', async () => {
    const spec = await provisionUpload()
    const model_id = 'dep-0198a000-0000-7000-8000-00000000dead'
    simulator.registered.set(name, { model_specs: [{ model_id }] })
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'starting' })
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'starting' })
    expect(simulator.models.size).toBe(0)
    const now = performance.now()
    vi.spyOn(performance, 'now').mockReturnValue(now + 61_000)
    await runtime.ensureEngine(spec)
    vi.restoreAllMocks()
    await start(spec)
    expect(simulator.registered.size).toBe(0)
  })
})

test('a process that crashed after the registration launches the file when it is back', async () => {
  const spec = await provisionUpload()
  simulator.registered.set(name, { model_specs: [{ model_id: spec.modelUid }] })
  await start(spec)
  expect(simulator.registered.size).toBe(0)
})

test('without an address of this server, plans and engines say that uploads do not run', async () => {
  const without = await openRuntime([simulator])
  expect([runtime.loadsUploads, without.loadsUploads]).toEqual([true, false])
  expect((await runtime.readAvailability!())(upload)).toBeNull()
  expect((await without.readAvailability!())(upload)).toContain('do not know where to download')
  expect((await without.readAvailability!())(tiny)).toBeNull()
  const spec = await provisionUpload()
  expect(await without.ensureEngine(spec)).toMatchObject({ phase: 'failed', code: 'download_failed' })
})
