import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, appendFile, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { EngineObservation, EngineSpec, LogLine, ModelRuntime } from '../../src/ports/model-runtime.ts'
import { findEngines } from '../../src/adapters/model-runtime/local/engine-process.ts'
import { createLocalRuntime } from '../../src/adapters/model-runtime/local/runtime.ts'
import {
  PATIENT,
  TINY_MODEL,
  makeFolder,
  makeModelBytes,
  makeSettings,
  makeSpec,
  makeVariant,
  sendFile,
  startServer,
} from './local-runtime-support.ts'

const FILE_MODEL = makeVariant({ kind: 'file', path: TINY_MODEL })

/** A runtime whose deployments are released when the test ends. */
async function openRuntime(
  folder: string,
  changes: Parameters<typeof makeSettings>[1] = {},
): Promise<ModelRuntime> {
  const runtime = await createLocalRuntime(makeSettings(folder, changes))
  onTestFinished(async () => {
    for (const id of await runtime.listDeploymentIds()) await vi.waitUntil(() => runtime.release(id), PATIENT)
    await runtime.close()
  })
  return runtime
}

/** Ensures the engine until it is seen in a phase. */
async function reach<P extends EngineObservation['phase']>(
  runtime: ModelRuntime,
  spec: EngineSpec,
  phase: P,
): Promise<Extract<EngineObservation, { phase: P }>> {
  return await vi.waitFor(
    async () => {
      const seen = await runtime.ensureEngine(spec)
      if (seen.phase !== phase) throw new Error(`seen ${JSON.stringify(seen)}`)
      return seen as Extract<EngineObservation, { phase: P }>
    },
    { timeout: 40_000, interval: 50 },
  )
}

async function deploy(runtime: ModelRuntime, variant = FILE_MODEL): Promise<EngineSpec> {
  const spec = makeSpec(variant)
  expect(await runtime.provision(spec)).toMatchObject({ outcome: 'provisioned' })
  return spec
}

function stateFolder(folder: string, spec: EngineSpec): string {
  return join(folder, 'engines', spec.deploymentId)
}

async function readState(
  folder: string,
  spec: EngineSpec,
  file = 'engine.json',
): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(stateFolder(folder, spec), file), 'utf8')) as Record<string, unknown>
}

/** A program that stands in for the engine, to behave as a broken one does. */
async function writeProgram(folder: string, source: string): Promise<string> {
  const path = join(folder, 'engine.mjs')
  await writeFile(path, source)
  return path
}

const SAY = `
  import { writeFileSync, renameSync, existsSync } from 'node:fs'
  import { join } from 'node:path'
  const option = (name) => process.argv[process.argv.indexOf('--' + name) + 1]
  const say = (changes) => {
    const path = join(option('state-dir'), 'engine.json')
    const state = { nonce: option('nonce'), pid: process.pid, started_at: new Date().toISOString(), error: null }
    writeFileSync(path + '.tmp', JSON.stringify({ ...state, port: null, ...changes }))
    renameSync(path + '.tmp', path)
  }
  setInterval(() => existsSync(join(option('state-dir'), 'launch.json')) || process.exit(3), 1000)
`

describe('an engine of this host', () => {
  test('is started, answers with its key, outlives its server and is ended', async () => {
    const folder = await makeFolder()
    const first = await createLocalRuntime(makeSettings(folder))
    const [offer] = await first.listOffers()
    expect(offer).toMatchObject({
      instanceType: 'local-cpu',
      region: 'local',
      gpuCount: 0,
      formats: ['ggufv2'],
    })
    const spec = await deploy(first)
    expect(await first.observeEngine(spec.deploymentId)).toEqual({ phase: 'absent' })
    const { endpoint } = await reach(first, spec, 'ready')

    const ask = (key: string): Promise<Response> =>
      fetch(`${endpoint.baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: spec.modelUid,
          messages: [{ role: 'user', content: 'hello' }],
          max_tokens: 4,
        }),
      })
    expect((await ask('wrong')).status).toBe(401)
    const answer = await ask(spec.apiKey)
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ choices: [{ message: { role: 'assistant' } }] })

    await first.close()
    const second = await openRuntime(folder)
    expect(await second.listDeploymentIds()).toEqual([spec.deploymentId])
    expect(await second.observeEngine(spec.deploymentId)).toEqual({ phase: 'ready', endpoint })
    expect(await second.ensureEngine(spec)).toEqual({ phase: 'ready', endpoint })
    const lines = await second.readLogs(spec.deploymentId, 1000)
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.map(({ line }) => line).join('\n')).not.toContain(spec.apiKey)

    await vi.waitUntil(() => second.stopEngine(spec.deploymentId), PATIENT)
    expect(await findEngines(stateFolder(folder, spec))).toEqual([])
    expect(await second.observeEngine(spec.deploymentId)).toEqual({ phase: 'absent' })
    await vi.waitUntil(() => second.release(spec.deploymentId), PATIENT)
    expect(await second.listDeploymentIds()).toEqual([])
    expect(await readdir(join(folder, 'engines'))).toEqual([])
    expect(await second.release(spec.deploymentId)).toBe(true)
  })

  test('is one, however often it is asked for at the same time', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(folder)
    const spec = await deploy(runtime)
    await Promise.all([runtime.ensureEngine(spec), runtime.ensureEngine(spec), runtime.ensureEngine(spec)])
    await reach(runtime, spec, 'ready')
    expect(await findEngines(stateFolder(folder, spec))).toHaveLength(1)
  })

  test('that is killed is seen as crashed and started again when asked to', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(folder)
    const spec = await deploy(runtime)
    await reach(runtime, spec, 'ready')
    const { pid } = await readState(folder, spec)
    process.kill(Number(pid), 'SIGKILL')
    const crashed = {
      phase: 'failed',
      stage: 'runtime',
      code: 'engine_crashed',
      message: expect.stringContaining('SIGKILL'),
    }
    await expect.poll(() => runtime.observeEngine(spec.deploymentId), PATIENT).toMatchObject(crashed)
    expect(await runtime.ensureEngine(spec)).toMatchObject(crashed)
    expect(await findEngines(stateFolder(folder, spec))).toEqual([])
    await vi.waitUntil(() => runtime.stopEngine(spec.deploymentId), PATIENT)
    await reach(runtime, spec, 'ready')
    const [again] = await findEngines(stateFolder(folder, spec))
    expect(again?.pid).not.toBe(pid)
  })

  test('ends by itself when its launch is withdrawn', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(folder)
    const spec = await deploy(runtime)
    await runtime.ensureEngine(spec)
    expect(await findEngines(stateFolder(folder, spec))).toHaveLength(1)
    await rm(join(stateFolder(folder, spec), 'launch.json'))
    await expect.poll(() => findEngines(stateFolder(folder, spec)), PATIENT).toEqual([])
    await reach(runtime, spec, 'ready')
  })

  test('is started again after the host was, and when its server ended before it began', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(folder)
    const spec = await deploy(runtime)
    const launch = join(stateFolder(folder, spec), 'launch.json')
    const state = join(stateFolder(folder, spec), 'engine.json')
    const nonce = 'a'.repeat(32)
    const record = { nonce, launched_at: new Date().toISOString(), boot_id: 'earlier', memory_kills: 0 }
    await writeFile(launch, JSON.stringify(record))
    await writeFile(state, JSON.stringify({ nonce, pid: process.pid, phase: 'ready', port: 9, error: null }))
    expect(await runtime.observeEngine(spec.deploymentId)).toEqual({ phase: 'absent' })
    await reach(runtime, spec, 'ready')
    await vi.waitUntil(() => runtime.stopEngine(spec.deploymentId), PATIENT)

    await runtime.ensureEngine(spec)
    const { boot_id: bootId } = await readState(folder, spec, 'launch.json')
    await vi.waitUntil(() => runtime.stopEngine(spec.deploymentId), PATIENT)
    await writeFile(launch, JSON.stringify({ ...record, boot_id: bootId }))
    expect(await runtime.observeEngine(spec.deploymentId)).toEqual({ phase: 'absent' })
    await reach(runtime, spec, 'ready')
    expect(await findEngines(stateFolder(folder, spec))).toHaveLength(1)
  })

  test('is not mistaken for another process that has its id now', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(folder)
    const spec = await deploy(runtime)
    await reach(runtime, spec, 'ready')
    const { pid } = await readState(folder, spec)
    process.kill(Number(pid), 'SIGKILL')
    await expect
      .poll(() => runtime.observeEngine(spec.deploymentId), PATIENT)
      .toMatchObject({ phase: 'failed' })
    const bystander = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)'])
    const ended = once(bystander, 'exit')
    const state = { ...(await readState(folder, spec)), pid: bystander.pid }
    await writeFile(join(stateFolder(folder, spec), 'engine.json'), JSON.stringify(state))
    expect(await runtime.observeEngine(spec.deploymentId)).toMatchObject({ phase: 'failed' })
    expect(await runtime.stopEngine(spec.deploymentId)).toBe(true)
    expect(bystander.exitCode ?? bystander.signalCode).toBeNull()
    bystander.kill('SIGKILL')
    await ended
  })

  test('runs although its server was killed right after the start', async () => {
    const folder = await makeFolder()
    const spec = makeSpec(FILE_MODEL)
    const module = new URL('../../src/adapters/model-runtime/local/runtime.ts', import.meta.url).href
    const { logger: _, ...settings } = makeSettings(folder)
    const program = `
      import { createLocalRuntime } from ${JSON.stringify(module)}
      const runtime = await createLocalRuntime({ ...${JSON.stringify(settings)}, logger: { info() {}, warn() {} } })
      await runtime.provision(${JSON.stringify(spec)})
      await runtime.ensureEngine(${JSON.stringify(spec)})
      process.kill(process.pid, 'SIGKILL')`
    const server = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'inherit' })
    await once(server, 'exit')
    const runtime = await openRuntime(folder)
    expect(await runtime.listDeploymentIds()).toEqual([spec.deploymentId])
    await reach(runtime, spec, 'ready')
    expect(await findEngines(stateFolder(folder, spec))).toHaveLength(1)
  })

  test('is downloaded for first', async () => {
    const folder = await makeFolder()
    const model = await readFile(TINY_MODEL)
    const server = await startServer((request, response) => sendFile(request, response, model))
    const runtime = await openRuntime(folder)
    const spec = await deploy(runtime, makeVariant({ kind: 'url', url: `${server.origin}/tiny.gguf` }))
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'downloading' })
    await reach(runtime, spec, 'ready')
    expect(server.requests).toHaveLength(1)
  })
})

describe('an engine that does not come up', () => {
  test('names a model that llama.cpp does not take', async () => {
    const folder = await makeFolder()
    await writeFile(join(folder, 'bad.gguf'), makeModelBytes(100_000))
    const runtime = await openRuntime(folder)
    const spec = await deploy(runtime, makeVariant({ kind: 'file', path: 'bad.gguf' }))
    expect(await reach(runtime, spec, 'failed')).toMatchObject({
      stage: 'model_launch',
      code: 'launch_rejected',
    })
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'failed' })
  })

  test('is told with its exit code and last words', async () => {
    const folder = await makeFolder()
    const source = `console.error(new Date().toISOString() + ' no error yet'); console.error('Error: no such thing'); process.exit(7)`
    const runtime = await openRuntime(folder, { engineProgram: await writeProgram(folder, source) })
    const spec = await deploy(runtime)
    expect(await reach(runtime, spec, 'failed')).toEqual({
      phase: 'failed',
      stage: 'engine_startup',
      code: 'engine_crashed',
      message: 'The engine ended with exit code 7 at its start; it last said: Error: no such thing',
    })
  })

  test('is ended after its deadline, by force if need be', async () => {
    const folder = await makeFolder()
    const source = `${SAY} process.on('SIGTERM', () => {}); console.log('loading: 41 %'); say({ phase: 'loading' })`
    const runtime = await openRuntime(folder, {
      engineProgram: await writeProgram(folder, source.replace('process.exit(3)', '0')),
      loadingDeadlineMs: 2000,
    })
    const spec = await deploy(runtime)
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'starting' })
    await expect
      .poll(() => runtime.observeEngine(spec.deploymentId), PATIENT)
      .toEqual({ phase: 'starting', message: 'The engine is loading the model: 41 %.' })
    expect(await reach(runtime, spec, 'failed')).toMatchObject({
      stage: 'model_launch',
      code: 'readiness_timeout',
    })
    expect(await runtime.release(spec.deploymentId)).toBe(false)
    expect(await runtime.listDeploymentIds()).toEqual([spec.deploymentId])
    await vi.waitUntil(() => runtime.release(spec.deploymentId), PATIENT)
    expect(await findEngines(stateFolder(folder, spec))).toEqual([])
  })

  test('or that no longer answers counts as lost only after several checks', async () => {
    const folder = await makeFolder()
    const source = `${SAY}
      import { createServer } from 'node:http'
      const server = createServer((request, response) => response.writeHead(503).end())
      server.listen(0, '127.0.0.1', () => say({ phase: 'ready', port: server.address().port }))`
    const runtime = await openRuntime(folder, { engineProgram: await writeProgram(folder, source) })
    const spec = await deploy(runtime)
    await reach(runtime, spec, 'ready')
    expect(await reach(runtime, spec, 'failed')).toMatchObject({
      stage: 'health_check',
      code: 'engine_unreachable',
      message: expect.stringContaining('HTTP 503'),
    })
  })

  test('or hangs is ended, by force if need be, before another is started', async () => {
    const folder = await makeFolder()
    const source = `${SAY.replace('process.exit(3)', '0')} process.on('SIGTERM', () => {}); say({ phase: 'loading' })`
    const runtime = await openRuntime(folder, { engineProgram: await writeProgram(folder, source) })
    const spec = await deploy(runtime)
    const loading = { phase: 'starting', message: 'The engine is starting.' }
    await runtime.ensureEngine(spec)
    await vi.waitUntil(async () => (await readState(folder, spec).catch(() => null)) !== null, PATIENT)
    const [first] = await findEngines(stateFolder(folder, spec))
    expect(await runtime.stopEngine(spec.deploymentId)).toBe(false)
    expect(await runtime.ensureEngine(spec)).toEqual({
      phase: 'starting',
      message: 'The engine is being ended, to be started again.',
    })
    expect(await findEngines(stateFolder(folder, spec))).toEqual([first])
    await vi.waitFor(async () => expect(await runtime.ensureEngine(spec)).toEqual(loading), PATIENT)
    const there = await findEngines(stateFolder(folder, spec))
    expect(there).toHaveLength(1)
    expect(there[0]?.pid).not.toBe(first?.pid)
  })

  test('sees nothing of the server’s secrets', async () => {
    const folder = await makeFolder()
    const source = `${SAY} console.log('env ' + Object.keys(process.env).toSorted().join(' ')); say({ phase: 'loading' })`
    const runtime = await openRuntime(folder, {
      engineProgram: await writeProgram(folder, source),
      environment: {
        PATH: '/bin',
        HOME: folder,
        DATABASE_URL: 'postgres://',
        HF_TOKEN: 'hf',
        CUDA_VISIBLE_DEVICES: '0',
      },
    })
    const spec = await deploy(runtime)
    await runtime.ensureEngine(spec)
    await expect
      .poll(async () => (await runtime.readLogs(spec.deploymentId, 10)).map(({ line }) => line), PATIENT)
      .toContain('env BERTH_ENGINE_KEY CUDA_VISIBLE_DEVICES HOME PATH')
  })
})

describe('the memory of this host', () => {
  test('is given out once, also to those who ask together', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(folder, { memoryBytes: 1_000_000_000 })
    expect(await runtime.listOffers()).toMatchObject([{ memoryBytes: 900_000_000 }])
    const specs = Array.from({ length: 5 }, () => makeSpec(FILE_MODEL))
    const answers = await Promise.all(specs.map((spec) => runtime.provision(spec)))
    expect(answers.filter(({ outcome }) => outcome === 'provisioned')).toHaveLength(3)
    expect(answers.find(({ outcome }) => outcome === 'refused')).toEqual({
      outcome: 'refused',
      code: 'no_capacity',
      message:
        'The engine needs 238 MiB of memory, but this host has 858 MiB for engines, of which 3 others hold 715 MiB.',
    })
    const [held] = specs.filter((_, index) => answers[index]?.outcome === 'provisioned')
    const [refused] = specs.filter((_, index) => answers[index]?.outcome === 'refused')
    if (held === undefined || refused === undefined) throw new Error('no answer')
    const other = await createLocalRuntime(makeSettings(folder, { memoryBytes: 1_000_000_000 }))
    expect(await other.provision(held)).toEqual(answers[specs.indexOf(held)])
    expect(await other.provision(refused)).toMatchObject({ outcome: 'refused' })
    expect(await other.release(held.deploymentId)).toBe(true)
    expect(await other.provision(refused)).toMatchObject({ outcome: 'provisioned' })
    await other.close()
  })

  test('is not given for what this host does not run', async () => {
    const runtime = await openRuntime(await makeFolder())
    const pytorch = makeSpec({ ...FILE_MODEL, format: 'pytorch' })
    const gpu = makeSpec(FILE_MODEL, { instanceType: 'local-gpu' })
    for (const spec of [pytorch, gpu]) {
      expect(await runtime.provision(spec)).toMatchObject({
        outcome: 'refused',
        code: 'no_feasible_instance',
      })
    }
    expect(await runtime.listDeploymentIds()).toEqual([])
    const spec = makeSpec(FILE_MODEL)
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'failed', code: 'instance_lost' })
  })

  test('is kept under names that are ids and nothing else', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(folder)
    await mkdir(join(folder, 'precious'))
    for (const id of ['../precious', '', '.', 'x', '0190A5B6-0000-7000-8000-000000000000']) {
      await expect(runtime.release(id)).rejects.toThrow(RangeError)
      await expect(runtime.observeEngine(id)).rejects.toThrow(RangeError)
    }
    await access(join(folder, 'precious'))
  })
})

describe('the log of an engine', () => {
  test('is followed line by line, across a new start', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(folder)
    const spec = await deploy(runtime)
    expect(await runtime.readLogs(spec.deploymentId, 10)).toEqual([])
    const log = join(stateFolder(folder, spec), 'engine.log')
    await writeFile(log, '2026-01-02T03:04:05.000Z before\n')
    const controller = new AbortController()
    const seen: LogLine[] = []
    const following = (async () => {
      for await (const line of runtime.followLogs(spec.deploymentId, controller.signal)) seen.push(line)
    })()
    // The follower is there once it has seen a line; the lines until then may come before it.
    await vi.waitFor(async () => {
      await appendFile(log, '2026-01-02T03:04:06.000Z probe\n')
      expect(seen.length).toBeGreaterThan(0)
    }, PATIENT)
    await appendFile(log, '2026-01-02T03:04:07.000Z \u001b[31mhälf')
    await appendFile(log, ' and half\u001b[0m\nwithout a time\n')
    await expect.poll(() => seen.at(-1)?.line, PATIENT).toBe('without a time')
    expect(seen.at(-2)).toEqual({ at: new Date('2026-01-02T03:04:07.000Z'), line: 'hälf and half' })
    await rm(log)
    await writeFile(log, '2026-01-02T03:04:08.000Z another\n')
    await expect.poll(() => seen.at(-1)?.line, PATIENT).toBe('another')
    controller.abort()
    await following
    expect(await runtime.readLogs(spec.deploymentId, 1)).toEqual([
      { at: new Date('2026-01-02T03:04:08.000Z'), line: 'another' },
    ])
  })
})

test('no engine is left behind by these tests', () => {
  const processes = execFileSync('ps', ['-axww', '-o', 'command='], { encoding: 'utf8' })
  expect(
    processes.split('\n').filter((line) => line.includes('berth-local-') && line.includes('--state-dir')),
  ).toEqual([])
})
