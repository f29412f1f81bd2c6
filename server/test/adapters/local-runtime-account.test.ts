import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { describeUnreachable, runningAsRoot } from '../../src/base/account.ts'
import { engineAccount } from '../../src/adapters/model-runtime/local/engine/containment.ts'
import type { EngineSpec, ModelRuntime } from '../../src/ports/model-runtime.ts'
import {
  makeFolder,
  makeModelBytes,
  makeSettings,
  makeSpec,
  makeVariant,
  openRuntime,
  patient,
  reach,
  sha256,
} from './local-runtime-support.ts'

/** An engine that writes to its log who it is, and which files of DATA_DIR it can read and change. */
const spy = `
  import { accessSync, constants, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
  import { createServer } from 'node:http'
  import { join, relative } from 'node:path'
  const option = (name) => process.argv[process.argv.indexOf('--' + name) + 1]
  const own = option('state-dir')
  const root = join(own, '..', '..')
  const tryTo = (act) => { try { act(); return true } catch { return false } }
  const tell = (fact, value) => console.log(fact + ' ' + JSON.stringify(value))
  const status = readFileSync('/proc/self/status', 'utf8')
  tell('ids', [process.getuid(), process.getgid()])
  tell('privileges', /NoNewPrivs:\\s+(\\d)/.exec(status)[1])
  tell('readable', JSON.parse(readFileSync(join(root, '..', 'paths.json'))).filter((path) => tryTo(() => readFileSync(join(root, path)))))
  tell('listed', ['.', 'weights', 'models'].filter((path) => tryTo(() => readdirSync(join(root, path)))))
  tell('own', ['launch.json', 'instance.json'].filter((name) => tryTo(() => readFileSync(join(own, name)))))
  if (process.getuid() > 0) tell('replaced', ['launch.json', 'instance.json', 'engine.log'].filter((name) => tryTo(() => rmSync(join(own, name)))))
  tell('written', [own, process.env.NODE_COMPILE_CACHE, process.env.HOME, root].filter((folder) =>
    tryTo(() => { mkdirSync(folder, { recursive: true }); writeFileSync(join(folder, 'probe'), '') })).map((path) => relative(root, path).replace(/engines.*/, 'engine')))
  const server = createServer((request, response) => response.end('{"status":"ok"}'))
  server.listen(0, '127.0.0.1', () => {
    const state = { nonce: option('nonce'), pid: process.pid, started_at: new Date().toISOString(), error: null, phase: 'ready' }
    writeFileSync(join(own, 'draft'), JSON.stringify({ ...state, port: server.address().port }))
    renameSync(join(own, 'draft'), join(own, 'engine.json'))
  })`

const bytes = makeModelBytes(1000)
const upload = makeVariant({ kind: 'upload', sha256: sha256(bytes), fileName: 'a.gguf' })

/** A DATA_DIR that only root may enter, with secrets, an upload of the engine and one of others. */
async function makeDataDirectory(): Promise<{ folder: string; program: string }> {
  const outer = await makeFolder()
  await chmod(outer, 0o755)
  const folder = join(outer, 'data')
  const files = {
    'secret-key': 'a secret',
    'postgres/cluster/credentials.json': '{}',
    'weights/huggingface/others/private/model.gguf': 'weights of others',
    [`models/${'0'.repeat(64)}.gguf`]: 'an upload of others',
    [`models/${sha256(bytes)}.gguf`]: bytes,
  }
  await mkdir(folder, { mode: 0o700 })
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true, mode: 0o700 })
    await writeFile(join(folder, path), content, { mode: 0o600 })
  }
  await writeFile(join(outer, 'paths.json'), JSON.stringify(Object.keys(files)))
  const program = join(outer, 'spy.mjs')
  await writeFile(program, spy)
  return { folder, program }
}

async function start(runtime: ModelRuntime): Promise<EngineSpec> {
  const spec = makeSpec(upload)
  await runtime.provision(spec)
  await reach(runtime, spec, 'ready')
  return spec
}

/** What the engine told in its log. */
async function readFacts(runtime: ModelRuntime, { engineId }: EngineSpec): Promise<Record<string, unknown>> {
  const lines = (await runtime.logs.read(engineId, 100)).map(({ line }) => line)
  return Object.fromEntries(
    lines
      .filter((line) => /^\w+ [["]/.test(line))
      .map((line) => {
        const end = line.indexOf(' ')
        return [line.slice(0, end), JSON.parse(line.slice(end + 1))]
      }),
  )
}

describe.runIf(runningAsRoot())('an engine of a server that runs as root', () => {
  test('has an account that reads nothing of DATA_DIR but its weights, and changes only its own files', async () => {
    const { folder, program } = await makeDataDirectory()
    const environment = { PATH: process.env['PATH'], HOME: '/root' }
    const runtime = await openRuntime(makeSettings(folder, { engineProgram: program, environment }))
    const spec = await start(runtime)
    expect(await readFacts(runtime, spec)).toEqual({
      ids: [engineAccount.uid, engineAccount.gid],
      privileges: '1',
      readable: [`models/${sha256(bytes)}.gguf`],
      listed: [],
      own: ['launch.json'],
      replaced: [],
      written: ['engine', 'engine-cache/node', 'engine-cache/home'],
    })
    expect(await readFile(join(folder, 'secret-key'), 'utf8')).toBe('a secret')
  })

  test('cannot make the server read or write another file by a link in its folder', async () => {
    const { folder, program } = await makeDataDirectory()
    const runtime = await openRuntime(makeSettings(folder, { engineProgram: program }))
    const spec = await start(runtime)
    const own = join(folder, 'engines', spec.engineId)
    await symlink(join(folder, 'secret-key'), join(own, 'engine.log.1'))
    expect((await runtime.logs.read(spec.engineId, 1000)).map(({ line }) => line)).not.toContain('a secret')
    await vi.waitUntil(() => runtime.stopEngine(spec.engineId), patient)
    await symlink(join(folder, 'secret-key'), join(own, 'engine.json'))
    await reach(runtime, spec, 'ready')
    expect(await readFile(join(folder, 'secret-key'), 'utf8')).toBe('a secret')
  })

  test('runs as root, and the log says why, if the account cannot read its program', async () => {
    const { folder, program } = await makeDataDirectory()
    await chmod(program, 0o600)
    const warn = vi.fn()
    const logger = { info() {}, warn }
    const runtime = await openRuntime(makeSettings(folder, { engineProgram: program, logger }))
    const facts = await readFacts(runtime, await start(runtime))
    expect(facts).toMatchObject({ ids: [0, 0], privileges: '1' })
    const reason = describeUnreachable(program, engineAccount)
    expect(warn.mock.calls).toEqual([[{ reason }, 'engines run as root']])
  })

  test('runs what is installed later in a DATA_DIR that the account cannot enter', async () => {
    const folder = join(await makeFolder(), 'data')
    await mkdir(folder)
    const runtime = await openRuntime(makeSettings(folder))
    const installation = join(folder, 'engines/llama.cpp-1.2.3')
    await mkdir(join(installation, 'bin'), { recursive: true })
    for (const name of ['llama-server', 'python']) {
      await writeFile(join(installation, 'bin', name), '#!/bin/sh\necho "version: 1 (build 1)"\n', {
        mode: 0o755,
      })
    }
    const marker = { name: 'llama.cpp', version: '1.2.3', installed_at: new Date().toISOString() }
    await writeFile(join(installation, 'berth-installation.json'), JSON.stringify(marker))
    const { engines } = await runtime.hostEngines!.report()
    expect(engines.find(({ foundBy }) => foundBy === 'engines install')).toMatchObject({ isUsed: true })
  })
})
