import { copyFile, readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { llamaCppLoras } from '../../src/adapters/model-runtime/engines/llama-cpp.ts'
import { findEngines } from '../../src/adapters/model-runtime/local/engine/engine-process.ts'
import { createLocalRuntime } from '../../src/adapters/model-runtime/local/runtime.ts'
import type { EngineSpec, ModelRuntime } from '../../src/ports/model-runtime.ts'
import {
  patient,
  tinyModel,
  folders,
  locateCache,
  makeFolder,
  makeSettings,
  makeSpec,
  makeVariant,
  openRuntime,
  reach,
  sendFile,
  sha256,
  startServer,
} from './local-runtime-support.ts'
import { engines } from '../support/engines.ts'
import { isAlive } from '../support/process.ts'

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const llamaDouble = [process.execPath, pathOf('llama-server-double.mjs')] as const
const vllmDouble = [process.execPath, pathOf('vllm-double.mjs')] as const
const real = process.env['LLAMA_SERVER_COMMAND']?.split(/ +/) as [string, ...string[]] | undefined

function chat(baseUrl: string, key: string, path = '/v1/chat/completions'): Promise<Response> {
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'What is 27 + 15?' }], max_tokens: 20 })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return fetch(`${baseUrl}${path}`, { method: 'POST', headers, body })
}

async function readLines(runtime: ModelRuntime, { engineId }: EngineSpec): Promise<string> {
  return (await runtime.logs.read(engineId, 1000)).map(({ line }) => line).join('\n')
}

/** Copies a model to a folder. The name of its file tells the double what to do. */
async function makeModel(folder: string, name = 'model.gguf'): Promise<EngineSpec> {
  await copyFile(tinyModel, join(folder, name))
  return makeSpec(makeVariant({ kind: 'file', path: name }))
}

describe.each([
  { name: 'a double of llama-server', command: llamaDouble },
  ...(real === undefined ? [] : [{ name: 'LLAMA_SERVER_COMMAND', command: real }]),
])('$name', ({ command }) => {
  test('serves a GGUF file with its own key, outlives Berth and is stopped', async () => {
    const folder = await makeFolder()
    const settings = makeSettings(folder, { llamaServerCommand: command })
    const first = await createLocalRuntime(settings)
    const version = expect.stringMatching(/^\d{5}$/)
    expect(first.engines).toEqual([{ ...engines.llamaCpp, loras: llamaCppLoras, version }])
    const spec = await makeModel(folder)
    const { endpoint } = await reach(first, spec, 'ready')
    expect((await chat(endpoint.baseUrl, 'wrong')).status).toBe(401)
    const response = await chat(endpoint.baseUrl, spec.apiKey)
    expect(await response.json()).toMatchObject({ model: spec.servedModelName, choices: [{}] })
    await first.close()

    const second = await openRuntime(settings)
    expect(await second.observeEngine(spec.engineId)).toEqual({ phase: 'ready', endpoint })
    expect(await second.ensureEngine(spec)).toEqual({ phase: 'ready', endpoint })
    const lines = await readLines(second, spec)
    expect(lines).toContain('loading model')
    expect(lines).not.toContain(spec.apiKey)
    await vi.waitUntil(() => second.release(spec.engineId), patient)
    await expect(fetch(`${endpoint.baseUrl}/health`)).rejects.toThrow()
  }, 90_000)
})

describe('a program that Berth supervises', () => {
  const folderOf = (folder: string, { engineId }: EngineSpec) => join(folder, 'engines', engineId)

  test('ends with its launch file, and another one starts', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(makeSettings(folder, { llamaServerCommand: llamaDouble }))
    const spec = await makeModel(folder)
    const { endpoint } = await reach(runtime, spec, 'ready')
    await rm(join(folderOf(folder, spec), 'launch.json'))
    await expect.poll(() => findEngines(folderOf(folder, spec))).toEqual([])
    await expect(fetch(`${endpoint.baseUrl}/health`)).rejects.toThrow()
    await reach(runtime, spec, 'ready')
  }, 60_000)

  test.each([true, false])(
    'does not outlive its supervisor for long (PATH has setpriv: %s)',
    async (hasSetpriv) => {
      const folder = await makeFolder()
      const path = hasSetpriv ? process.env['PATH'] : folder
      const environment = { PATH: path, HOME: folder, NODE_LLAMA_CPP_GPU: 'false' }
      const settings = makeSettings(folder, { llamaServerCommand: llamaDouble, environment })
      const runtime = await openRuntime(settings)
      const spec = await makeModel(folder)
      await reach(runtime, spec, 'ready')
      const processes = await findEngines(folderOf(folder, spec))
      const supervisor = processes.find(({ nonce }) => nonce !== null)!
      const server = processes.find(({ nonce }) => nonce === null)!
      process.kill(supervisor.pid, 'SIGKILL')
      expect(await reach(runtime, spec, 'failed')).toMatchObject({ code: 'engine_crashed', stage: 'runtime' })
      await vi.waitUntil(() => runtime.stopEngine(spec.engineId), patient)
      expect(isAlive(server.pid)).toBe(false)
      await reach(runtime, spec, 'ready')
    },
    60_000,
  )

  test('is replaced only after its workers, which hide their environment like those of vLLM, have ended', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(makeSettings(folder, { llamaServerCommand: llamaDouble }))
    const spec = await makeModel(folder, 'worker.gguf')
    await reach(runtime, spec, 'ready')
    const worker = Number(/^.*worker (\d+)$/m.exec(await readLines(runtime, spec))?.[1])
    for (const { pid } of await findEngines(folderOf(folder, spec))) {
      if (pid !== worker) process.kill(pid, 'SIGKILL')
    }
    await reach(runtime, spec, 'failed')
    expect(isAlive(worker)).toBe(true)
    await vi.waitUntil(() => runtime.stopEngine(spec.engineId), patient)
    expect(isAlive(worker)).toBe(false)
  }, 60_000)

  test('is reported as crashed with its exit code, and can be restarted', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(makeSettings(folder, { llamaServerCommand: llamaDouble }))
    const spec = await makeModel(folder)
    const { endpoint } = await reach(runtime, spec, 'ready')
    await chat(endpoint.baseUrl, spec.apiKey, '/exit').catch(() => {})
    expect(await reach(runtime, spec, 'failed')).toMatchObject({
      code: 'engine_crashed',
      message: expect.stringMatching(/^llama-server exited with code 9/),
    })
    await vi.waitUntil(() => runtime.stopEngine(spec.engineId), patient)
    await reach(runtime, spec, 'ready')
  }, 60_000)

  test('is reported with the reason when it can’t load its weights', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(makeSettings(folder, { llamaServerCommand: llamaDouble }))
    const spec = await makeModel(folder, 'bad.gguf')
    expect(await reach(runtime, spec, 'failed')).toEqual({
      phase: 'failed',
      stage: 'model_launch',
      code: 'launch_rejected',
      message: "The engine can't load the model's weights. Engine log: error loading model: invalid magic",
    })
  }, 60_000)

  test('is reported when the program can’t be started', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(makeSettings(folder, { llamaServerCommand: [join(folder, 'none')] }))
    const spec = await makeModel(folder)
    expect(await reach(runtime, spec, 'failed')).toMatchObject({
      code: 'launch_rejected',
      message: expect.stringMatching(/none could not be started: not found\.$/),
    })
  }, 60_000)

  test('is killed if it ignores SIGTERM', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(makeSettings(folder, { llamaServerCommand: llamaDouble }))
    const spec = await makeModel(folder, 'stubborn.gguf')
    await reach(runtime, spec, 'ready')
    const processes = await findEngines(folderOf(folder, spec))
    await vi.waitUntil(() => runtime.release(spec.engineId), patient)
    expect(processes.filter(({ pid }) => isAlive(pid))).toEqual([])
  }, 60_000)
})

describe('vLLM', () => {
  const weights = Buffer.alloc(50_000, 'w')
  const files = new Map([
    ['config.json', Buffer.from('{}')],
    ['tokenizer.json', Buffer.from('{"t":1}')],
    ['model.safetensors', weights],
    ['1_Pooling/config.json', Buffer.from('{}')],
  ])
  const variant = makeVariant(
    { kind: 'huggingface', repo: 'berth/tiny', revision: 'main', files: [] },
    { format: 'pytorch', quantization: 'none' },
  )

  function startHub() {
    const siblings = [...files].map(([rfilename, bytes]) => ({
      rfilename,
      size: bytes.length,
      ...(rfilename.endsWith('.safetensors') ? { lfs: { sha256: sha256(bytes), size: bytes.length } } : {}),
    }))
    const unwanted = ['model.gguf', 'onnx/model.json', 'README.md'].map((rfilename) => ({
      rfilename,
      size: 1,
    }))
    return startServer((request, response) => {
      if (request.url?.startsWith('/api/models/berth/tiny/revision/main') === true) {
        response.end(JSON.stringify({ sha: 'abc', siblings: [...siblings, ...unwanted] }))
        return
      }
      const bytes = files.get(request.url?.split('/resolve/main/')[1] ?? '')
      if (bytes === undefined) response.writeHead(404).end()
      else sendFile(request, response, bytes)
    })
  }

  test('serves a repository; a second deployment downloads and compiles nothing', async () => {
    const folder = await makeFolder()
    const hub = await startHub()
    const huggingFace = { endpoint: hub.origin, token: null }
    const settings = makeSettings(folder, { vllmCommand: vllmDouble, huggingFace })
    const runtime = await openRuntime(settings)
    expect(runtime.engines.map(({ name }) => name)).toEqual(['embedded', 'vllm'])
    expect((await runtime.listOffers())[0]?.formats).toEqual([
      'ggufv2',
      'pytorch',
      'awq',
      'gptq',
      'fp8',
      'fp4',
      'compressed',
    ])
    const specs = [makeSpec(variant), makeSpec(variant)] as const
    const { endpoint } = await reach(runtime, specs[0], 'ready')
    expect(hub.requests).toHaveLength(1 + files.size)
    expect((await chat(endpoint.baseUrl, 'wrong')).status).toBe(401)
    const { args } = (await (await chat(endpoint.baseUrl, specs[0].apiKey)).json()) as { args: string[] }
    expect(args).toContain(join(folder, 'weights', 'huggingface', 'berth', 'tiny', 'main'))
    expect(await readLines(runtime, specs[0])).toMatch(/Compiling a graph\noffline 1/)

    await reach(runtime, specs[1], 'ready')
    expect(hub.requests).toHaveLength(1 + files.size)
    expect(await readLines(runtime, specs[1])).toContain('Directly load the compiled graph')
    expect(await readdir(join(locateCache(folder), 'vllm-unknown'))).toEqual(['cpu'])
  }, 90_000)

  test('verifies the files of a repository, and reports one without weights', async () => {
    const folder = await makeFolder()
    const hub = await startHub()
    const huggingFace = { endpoint: hub.origin, token: null }
    const runtime = await openRuntime(makeSettings(folder, { vllmCommand: vllmDouble, huggingFace }))
    const missing = makeSpec({
      ...variant,
      weights: { kind: 'huggingface', repo: 'berth/none', revision: 'main', files: [] },
    })
    expect(await reach(runtime, missing, 'failed')).toMatchObject({ code: 'model_not_found' })
    files.set('model.safetensors', Buffer.alloc(weights.length, 'x'))
    try {
      const second = await startHub()
      files.set('model.safetensors', weights)
      const changed = makeSettings(folder, {
        vllmCommand: vllmDouble,
        huggingFace: { endpoint: second.origin, token: null },
      })
      const other = await createLocalRuntime(changed)
      onTestFinished(() => other.close())
      const spec = makeSpec(variant)
      expect(await reach(other, spec, 'failed')).toMatchObject({
        code: 'download_failed',
        message: expect.stringContaining('has the SHA-256'),
      })
    } finally {
      files.set('model.safetensors', weights)
    }
  }, 60_000)
})

test('these tests leave no process running', async () => {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  const environments = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')),
  )
  const isOurs = (text: string) => folders.some((folder) => text.includes(`BERTH_STATE_DIR=${folder}/`))
  expect(environments.filter(isOurs)).toEqual([])
})
