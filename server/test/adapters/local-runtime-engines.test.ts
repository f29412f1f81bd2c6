import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, appendFile, chmod, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { ObservedTime } from '../../src/base/observed-time.ts'
import type { EngineSpec, LogLine, ModelRuntime } from '../../src/ports/model-runtime.ts'
import { findEngines } from '../../src/adapters/model-runtime/local/engine/engine-process.ts'
import { createLocalRuntime } from '../../src/adapters/model-runtime/local/runtime.ts'
import {
  patient,
  tinyModel,
  folders,
  locateCache,
  makeFolder,
  makeModelBytes,
  makeSettings,
  makeSpec,
  makeVariant,
  openRuntime,
  reach,
  sendFile,
  startServer,
} from './local-runtime-support.ts'

const fileModel = makeVariant({ kind: 'file', path: tinyModel })

async function deploy(runtime: ModelRuntime, variant = fileModel): Promise<EngineSpec> {
  const spec = makeSpec(variant)
  expect(await runtime.provision(spec)).toMatchObject({ outcome: 'provisioned' })
  return spec
}

function stateFolder(folder: string, spec: EngineSpec): string {
  return join(folder, 'engines', spec.engineId)
}

async function readState(
  folder: string,
  spec: EngineSpec,
  file = 'engine.json',
): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(stateFolder(folder, spec), file), 'utf8')) as Record<string, unknown>
}

/** Writes a program that simulates a broken engine. */
async function writeProgram(folder: string, source: string): Promise<string> {
  const path = join(folder, 'engine.mjs')
  await writeFile(path, source)
  return path
}

const engineDouble = `
  import { writeFileSync, renameSync, existsSync } from 'node:fs'
  import { join } from 'node:path'
  const option = (name) => process.argv[process.argv.indexOf('--' + name) + 1]
  const writeRecord = (changes) => {
    const path = join(option('state-dir'), 'engine.json')
    const state = { nonce: option('nonce'), pid: process.pid, started_at: new Date().toISOString(), error: null }
    writeFileSync(path + '.tmp', JSON.stringify({ ...state, port: null, ...changes }))
    renameSync(path + '.tmp', path)
  }
  setInterval(() => existsSync(join(option('state-dir'), 'launch.json')) || process.exit(3), 1000)
`

/** An engine that works and loads nothing, for tests of its process */
const workingEngine = `${engineDouble}
  import { createServer } from 'node:http'
  const server = createServer((request, response) => response.end('{"status":"ok"}'))
  server.listen(0, '127.0.0.1', () => writeRecord({ phase: 'ready', port: server.address().port }))`

/** A runtime whose engines work and load nothing. */
async function openLightRuntime(folder: string): Promise<ModelRuntime> {
  return openRuntime(makeSettings(folder, { engineProgram: await writeProgram(folder, workingEngine) }))
}

describe('an engine on this host', () => {
  test('starts, requires its key, outlives its server and is stopped', async () => {
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
    expect(await first.observeEngine(spec.engineId)).toEqual({ phase: 'absent' })
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
    const second = await openRuntime(makeSettings(folder))
    expect(await second.listEngineIds()).toEqual([spec.engineId])
    expect(await second.observeEngine(spec.engineId)).toEqual({ phase: 'ready', endpoint })
    expect(await second.ensureEngine(spec)).toEqual({ phase: 'ready', endpoint })
    const lines = await second.logs.read(spec.engineId, 1000)
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.map(({ line }) => line).join('\n')).not.toContain(spec.apiKey)

    await vi.waitUntil(() => second.stopEngine(spec.engineId), patient)
    expect(await findEngines(stateFolder(folder, spec))).toEqual([])
    expect(await second.observeEngine(spec.engineId)).toEqual({ phase: 'absent' })
    await vi.waitUntil(() => second.release(spec.engineId), patient)
    expect(await second.listEngineIds()).toEqual([])
    expect(await readdir(join(folder, 'engines'))).toEqual([])
    expect(await second.release(spec.engineId)).toBe(true)
  })

  test('starts only once for concurrent calls', async () => {
    const folder = await makeFolder()
    const runtime = await openLightRuntime(folder)
    const spec = await deploy(runtime)
    await Promise.all([runtime.ensureEngine(spec), runtime.ensureEngine(spec), runtime.ensureEngine(spec)])
    await reach(runtime, spec, 'ready')
    expect(await findEngines(stateFolder(folder, spec))).toHaveLength(1)
  })

  test('is reported as crashed when killed, and can be restarted', async () => {
    const folder = await makeFolder()
    const runtime = await openLightRuntime(folder)
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
    await expect.poll(() => runtime.observeEngine(spec.engineId)).toMatchObject(crashed)
    expect(await runtime.ensureEngine(spec)).toMatchObject(crashed)
    expect(await findEngines(stateFolder(folder, spec))).toEqual([])
    await vi.waitUntil(() => runtime.stopEngine(spec.engineId), patient)
    await reach(runtime, spec, 'ready')
    const [again] = await findEngines(stateFolder(folder, spec))
    expect(again?.pid).not.toBe(pid)
  })

  test('exits by itself when its launch record is removed', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(makeSettings(folder))
    const spec = await deploy(runtime)
    await runtime.ensureEngine(spec)
    expect(await findEngines(stateFolder(folder, spec))).toHaveLength(1)
    await rm(join(stateFolder(folder, spec), 'launch.json'))
    await expect.poll(() => findEngines(stateFolder(folder, spec))).toEqual([])
    await reach(runtime, spec, 'ready')
  })

  test('starts again after a reboot of the host, and after a server crash in the middle of a launch', async () => {
    const folder = await makeFolder()
    const runtime = await openLightRuntime(folder)
    const spec = await deploy(runtime)
    const launch = join(stateFolder(folder, spec), 'launch.json')
    const state = join(stateFolder(folder, spec), 'engine.json')
    const nonce = 'a'.repeat(32)
    const record = { nonce, launched_at: new Date().toISOString(), boot_id: 'earlier', memory_kills: 0 }
    await writeFile(launch, JSON.stringify(record))
    await writeFile(state, JSON.stringify({ nonce, pid: process.pid, phase: 'ready', port: 9, error: null }))
    expect(await runtime.observeEngine(spec.engineId)).toEqual({ phase: 'absent' })
    await reach(runtime, spec, 'ready')
    await vi.waitUntil(() => runtime.stopEngine(spec.engineId), patient)

    await runtime.ensureEngine(spec)
    const { boot_id: bootId } = await readState(folder, spec, 'launch.json')
    await vi.waitUntil(() => runtime.stopEngine(spec.engineId), patient)
    await writeFile(launch, JSON.stringify({ ...record, boot_id: bootId }))
    expect(await runtime.observeEngine(spec.engineId)).toEqual({ phase: 'absent' })
    await reach(runtime, spec, 'ready')
    expect(await findEngines(stateFolder(folder, spec))).toHaveLength(1)
  })

  test('is not confused with another process that reuses its id', async () => {
    const folder = await makeFolder()
    const runtime = await openLightRuntime(folder)
    const spec = await deploy(runtime)
    await reach(runtime, spec, 'ready')
    const { pid } = await readState(folder, spec)
    process.kill(Number(pid), 'SIGKILL')
    await expect.poll(() => runtime.observeEngine(spec.engineId)).toMatchObject({ phase: 'failed' })
    const bystander = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)'])
    const ended = once(bystander, 'exit')
    const state = { ...(await readState(folder, spec)), pid: bystander.pid }
    await writeFile(join(stateFolder(folder, spec), 'engine.json'), JSON.stringify(state))
    expect(await runtime.observeEngine(spec.engineId)).toMatchObject({ phase: 'failed' })
    expect(await runtime.stopEngine(spec.engineId)).toBe(true)
    expect(bystander.exitCode ?? bystander.signalCode).toBeNull()
    bystander.kill('SIGKILL')
    await ended
  })

  test('keeps running if its server is killed right after the launch', async () => {
    const folder = await makeFolder()
    const spec = makeSpec(fileModel)
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
    const runtime = await openRuntime(makeSettings(folder))
    expect(await runtime.listEngineIds()).toEqual([spec.engineId])
    await reach(runtime, spec, 'ready')
    expect(await findEngines(stateFolder(folder, spec))).toHaveLength(1)
  })

  test('downloads its model first', async () => {
    const folder = await makeFolder()
    const model = await readFile(tinyModel)
    const server = await startServer((request, response) => sendFile(request, response, model))
    const runtime = await openRuntime(makeSettings(folder))
    const spec = await deploy(runtime, makeVariant({ kind: 'url', url: `${server.origin}/tiny.gguf` }))
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'downloading' })
    await reach(runtime, spec, 'ready')
    expect(server.requests).toHaveLength(1)
  })
})

describe('a broken engine', () => {
  test('reports a model that llama.cpp rejects', async () => {
    const folder = await makeFolder()
    await writeFile(join(folder, 'bad.gguf'), makeModelBytes(100_000))
    const runtime = await openRuntime(makeSettings(folder))
    const spec = await deploy(runtime, makeVariant({ kind: 'file', path: 'bad.gguf' }))
    expect(await reach(runtime, spec, 'failed')).toMatchObject({
      stage: 'model_launch',
      code: 'launch_rejected',
    })
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'failed' })
  })

  test('is reported with its exit code and last error', async () => {
    const folder = await makeFolder()
    const source = `console.error(new Date().toISOString() + ' no error yet'); console.error('Error: no such thing'); process.exit(7)`
    const runtime = await openRuntime(
      makeSettings(folder, { engineProgram: await writeProgram(folder, source) }),
    )
    const spec = await deploy(runtime)
    expect(await reach(runtime, spec, 'failed')).toEqual({
      phase: 'failed',
      stage: 'engine_startup',
      code: 'engine_crashed',
      message: 'The engine exited with code 7 during startup. Engine log: Error: no such thing',
    })
  })

  test('fails after the loading timeout and is killed if necessary', async () => {
    const folder = await makeFolder()
    const source = `${engineDouble} process.on('SIGTERM', () => {}); console.log('loading: 41 %'); writeRecord({ phase: 'loading' })`
    const runtime = await openRuntime(
      makeSettings(folder, {
        engineProgram: await writeProgram(folder, source.replace('process.exit(3)', '0')),
        loadingTimeoutMs: 2000,
      }),
    )
    const spec = await deploy(runtime)
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'starting' })
    await expect
      .poll(() => runtime.observeEngine(spec.engineId))
      .toEqual({ phase: 'starting', message: 'The engine is loading the model: 41 %.' })
    expect(await reach(runtime, spec, 'failed')).toMatchObject({
      stage: 'model_launch',
      code: 'readiness_timeout',
    })
    expect(await runtime.release(spec.engineId)).toBe(false)
    expect(await runtime.listEngineIds()).toEqual([spec.engineId])
    await vi.waitUntil(() => runtime.release(spec.engineId), patient)
    expect(await findEngines(stateFolder(folder, spec))).toEqual([])
  })

  test('does not fail when the clock steps ahead while it loads the model', async () => {
    const folder = await makeFolder()
    const source = `${engineDouble} console.log('loading: 41 %'); writeRecord({ phase: 'loading' })`
    const observedTime = new ObservedTime()
    const runtime = await openRuntime(
      makeSettings(folder, { engineProgram: await writeProgram(folder, source), observedTime }),
    )
    const spec = await deploy(runtime)
    await runtime.ensureEngine(spec)
    await expect
      .poll(() => runtime.observeEngine(spec.engineId))
      .toEqual({ phase: 'starting', message: 'The engine is loading the model: 41 %.' })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 21 * 60_000 })
    try {
      expect(await runtime.observeEngine(spec.engineId)).toMatchObject({ phase: 'starting' })
    } finally {
      vi.useRealTimers()
      observedTime.close()
    }
  })

  test('counts as unreachable only after several failed health checks', async () => {
    const folder = await makeFolder()
    const source = `${engineDouble}
      import { createServer } from 'node:http'
      const server = createServer((request, response) => response.writeHead(503).end())
      server.listen(0, '127.0.0.1', () => writeRecord({ phase: 'ready', port: server.address().port }))`
    const runtime = await openRuntime(
      makeSettings(folder, { engineProgram: await writeProgram(folder, source) }),
    )
    const spec = await deploy(runtime)
    await reach(runtime, spec, 'ready')
    expect(await reach(runtime, spec, 'failed')).toMatchObject({
      stage: 'health_check',
      code: 'engine_unreachable',
      message: expect.stringContaining('HTTP 503'),
    })
  })

  test('is not lost while only its health thread answers', async () => {
    const folder = await makeFolder()
    const source = `${engineDouble}
      import { createServer } from 'node:http'
      const listen = (status) => new Promise((resolve) => {
        const server = createServer((request, response) => response.writeHead(status).end())
        server.listen(0, '127.0.0.1', () => resolve(server.address().port))
      })
      writeRecord({ phase: 'ready', port: await listen(503), health_port: await listen(200) })`
    const runtime = await openRuntime(
      makeSettings(folder, { engineProgram: await writeProgram(folder, source) }),
    )
    const spec = await deploy(runtime)
    await reach(runtime, spec, 'ready')
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      for (let check = 0; check < 5; check++) {
        vi.advanceTimersByTime(3_000)
        expect(await runtime.observeEngine(spec.engineId)).toMatchObject({ phase: 'ready' })
      }
    } finally {
      vi.useRealTimers()
    }
  })

  test('is killed if it hangs, before another one starts', async () => {
    const folder = await makeFolder()
    const source = `${engineDouble.replace('process.exit(3)', '0')} process.on('SIGTERM', () => {}); writeRecord({ phase: 'loading' })`
    const runtime = await openRuntime(
      makeSettings(folder, { engineProgram: await writeProgram(folder, source) }),
    )
    const spec = await deploy(runtime)
    const loading = { phase: 'starting', message: 'The engine is starting.' }
    await runtime.ensureEngine(spec)
    await vi.waitUntil(async () => (await readState(folder, spec).catch(() => null)) !== null, patient)
    const [first] = await findEngines(stateFolder(folder, spec))
    expect(await runtime.stopEngine(spec.engineId)).toBe(false)
    expect(await runtime.ensureEngine(spec)).toEqual({
      phase: 'starting',
      message: 'Waiting for the previous engine to stop.',
    })
    expect(await findEngines(stateFolder(folder, spec))).toEqual([first])
    await vi.waitFor(async () => expect(await runtime.ensureEngine(spec)).toEqual(loading), patient)
    const engines = await findEngines(stateFolder(folder, spec))
    expect(engines).toHaveLength(1)
    expect(engines[0]?.pid).not.toBe(first?.pid)
  })

  test('does not inherit the server’s secrets', async () => {
    const folder = await makeFolder()
    const source = `${engineDouble} console.log('env ' + Object.keys(process.env).toSorted().join(' ')); writeRecord({ phase: 'loading' })`
    const runtime = await openRuntime(
      makeSettings(folder, {
        engineProgram: await writeProgram(folder, source),
        environment: {
          PATH: '/bin',
          HOME: folder,
          DATABASE_URL: 'postgres://',
          HF_TOKEN: 'hf',
          CUDA_VISIBLE_DEVICES: '0',
        },
      }),
    )
    const spec = await deploy(runtime)
    await runtime.ensureEngine(spec)
    await expect
      .poll(async () => (await runtime.logs.read(spec.engineId, 10)).map(({ line }) => line))
      .toContain(
        'env BERTH_ENGINE_KEY BERTH_STATE_DIR CUDA_VISIBLE_DEVICES HOME MALLOC_ARENA_MAX MALLOC_MMAP_THRESHOLD_ NODE_COMPILE_CACHE PATH',
      )
  })
})

test.each([undefined, 'own'])(
  'compiled code of engines is in DATA_DIR, or where NODE_COMPILE_CACHE says: %s',
  async (own) => {
    const folder = await makeFolder()
    if (own !== undefined) await mkdir(join(folder, own)).then(() => chmod(join(folder, own), 0o1777))
    const source = `${engineDouble} console.log('cache ' + process.env.NODE_COMPILE_CACHE); writeRecord({ phase: 'loading' })`
    const runtime = await openRuntime(
      makeSettings(folder, {
        engineProgram: await writeProgram(folder, source),
        environment: { HOME: folder, NODE_COMPILE_CACHE: own && join(folder, own) },
      }),
    )
    const spec = await deploy(runtime)
    await runtime.ensureEngine(spec)
    // Logs name files below DATA_DIR.
    await expect
      .poll(async () => (await runtime.logs.read(spec.engineId, 10)).map(({ line }) => line))
      .toContain(`cache ${own ?? relative(folder, join(locateCache(folder), 'node'))}`)
  },
)

describe('the memory of this host', () => {
  test('is never reserved twice, even by concurrent calls', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(makeSettings(folder, { memoryBytes: 1_000_000_000 }))
    expect(await runtime.listOffers()).toMatchObject([{ memoryBytes: 900_000_000 }])
    const specs = Array.from({ length: 5 }, () => makeSpec(fileModel))
    const answers = await Promise.all(specs.map((spec) => runtime.provision(spec)))
    expect(answers.filter(({ outcome }) => outcome === 'provisioned')).toHaveLength(3)
    expect(answers.find(({ outcome }) => outcome === 'refused')).toEqual({
      outcome: 'refused',
      code: 'no_capacity',
      message:
        'The engine needs 238 MiB of memory, but other deployments (3) use 715 MiB of the 858 MiB that this host has for engines. ' +
        'Terminate a deployment or choose a smaller model.',
    })
    const [held] = specs.filter((_, index) => answers[index]?.outcome === 'provisioned')
    const [refused] = specs.filter((_, index) => answers[index]?.outcome === 'refused')
    if (held === undefined || refused === undefined) throw new Error('no answer')
    const other = await createLocalRuntime(makeSettings(folder, { memoryBytes: 1_000_000_000 }))
    expect(await other.provision(held)).toEqual(answers[specs.indexOf(held)])
    expect(await other.provision(refused)).toMatchObject({ outcome: 'refused' })
    expect(await other.release(held.engineId)).toBe(true)
    expect(await other.provision(refused)).toMatchObject({ outcome: 'provisioned' })
    await other.close()
  })

  test('is not reserved for formats and instance types that this host does not support', async () => {
    const runtime = await openRuntime(makeSettings(await makeFolder()))
    const pytorch = makeSpec({ ...fileModel, format: 'pytorch' })
    const gpu = makeSpec(fileModel, { instanceType: 'local-gpu' })
    for (const spec of [pytorch, gpu]) {
      expect(await runtime.provision(spec)).toMatchObject({
        outcome: 'refused',
        code: 'no_feasible_instance',
      })
    }
    expect(await runtime.listEngineIds()).toEqual([])
    expect(await runtime.ensureEngine(gpu)).toMatchObject({ phase: 'failed', code: 'no_feasible_instance' })
  })

  test('is reserved again for a deployment whose folder was lost', async () => {
    const folder = await makeFolder()
    const runtime = await openLightRuntime(folder)
    const spec = await deploy(runtime)
    await runtime.stopEngine(spec.engineId)
    await rm(stateFolder(folder, spec), { recursive: true })
    expect(await runtime.observeEngine(spec.engineId)).toEqual({ phase: 'absent' })
    await reach(runtime, spec, 'ready')
  })

  test('is tracked only under valid engine ids', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(makeSettings(folder))
    await mkdir(join(folder, 'precious'))
    for (const id of ['../precious', '', '.', 'x', '0190A5B6-0000-7000-8000-000000000000']) {
      await expect(runtime.release(id)).rejects.toThrow(RangeError)
      await expect(runtime.observeEngine(id)).rejects.toThrow(RangeError)
    }
    await access(join(folder, 'precious'))
  })
})

describe('the log of an engine', () => {
  test('is followed from its last lines on, across a restart', async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(makeSettings(folder))
    const spec = await deploy(runtime)
    expect(await runtime.logs.read(spec.engineId, 10)).toEqual([])
    const log = join(stateFolder(folder, spec), 'engine.log')
    await writeFile(`${log}.1`, '2026-01-02T03:04:03.000Z too old\n2026-01-02T03:04:04.000Z rotated\n')
    await writeFile(log, '2026-01-02T03:04:05.000Z before\n2026-01-02T03:04:06.000Z half')
    const controller = new AbortController()
    const seen: LogLine[] = []
    const following = (async () => {
      for await (const line of runtime.logs.follow(spec.engineId, 2, controller.signal)) seen.push(line)
    })()
    const lines = () => seen.map(({ line }) => line)
    await expect.poll(lines).toEqual(['rotated', 'before'])
    await appendFile(log, ' a line\n')
    await expect.poll(lines).toEqual(['rotated', 'before', 'half a line'])
    await appendFile(log, '2026-01-02T03:04:07.000Z \u001b[31mhälf')
    await appendFile(log, ' and half\u001b[0m\nwithout a time\n')
    await expect.poll(() => seen.at(-1)?.line).toBe('without a time')
    expect(seen.at(-2)).toEqual({ at: new Date('2026-01-02T03:04:07.000Z'), line: 'hälf and half' })
    await rm(log)
    await writeFile(log, '2026-01-02T03:04:08.000Z another\n')
    await expect.poll(() => seen.at(-1)?.line).toBe('another')
    controller.abort()
    await following
    expect(await runtime.logs.read(spec.engineId, 1)).toEqual([
      { at: new Date('2026-01-02T03:04:08.000Z'), line: 'another' },
    ])
  })
})

/** Runs `work` while this process can open no file. The shell sets the limit, which needs files itself. */
async function withoutDescriptors(work: () => Promise<void>): Promise<void> {
  const limit = (count: string) => `prlimit --pid ${process.pid} --nofile=${count}:; echo; read go; `
  const shell = spawn('sh', ['-c', `soft=$(ulimit -Sn); ${limit('3')}${limit('$soft')}`])
  try {
    await once(shell.stdout, 'data')
    await work()
  } finally {
    shell.stdin.write('\n')
    await once(shell.stdout, 'data')
    shell.stdin.end('\n')
    await once(shell, 'close')
  }
}

test.runIf(process.platform === 'linux')(
  'a server without file descriptors judges no engine, starts none, and finds it as it was',
  async () => {
    const folder = await makeFolder()
    const runtime = await openRuntime(makeSettings(folder))
    const spec = await deploy(runtime)
    const { endpoint } = await reach(runtime, spec, 'ready')
    const { pid } = await readState(folder, spec)
    await withoutDescriptors(async () => {
      for (const act of [() => runtime.observeEngine(spec.engineId), () => runtime.ensureEngine(spec)]) {
        await expect(act()).rejects.toMatchObject({ code: 'EMFILE' })
      }
    })
    expect(await runtime.observeEngine(spec.engineId)).toEqual({ phase: 'ready', endpoint })
    expect((await readState(folder, spec))['pid']).toBe(pid)
  },
)

test('these tests leave no engine running', () => {
  const processes = execFileSync('ps', ['-axww', '-o', 'command='], { encoding: 'utf8' })
  expect(processes.split('\n').filter((line) => folders.some((folder) => line.includes(folder)))).toEqual([])
})
