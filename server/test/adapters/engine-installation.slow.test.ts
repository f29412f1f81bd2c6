import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { embeddedEngine } from '../../src/adapters/model-runtime/local/inventory/find-engines.ts'
import {
  installEngine,
  triedXinference,
} from '../../src/adapters/model-runtime/local/inventory/install-engine.ts'
import { listInstallations } from '../../src/adapters/model-runtime/local/inventory/installations.ts'
import type { Inventory } from '../../src/adapters/model-runtime/local/inventory/inventory.ts'
import { parseGpus } from '../../src/adapters/model-runtime/local/gpus.ts'
import type { LocalRuntimeSettings } from '../../src/adapters/model-runtime/local/settings.ts'
import { makeFolder, makeSettings, openRuntime } from './local-runtime-support.ts'
import { startPackageIndex } from './package-index.ts'

const [gpu] = parseGpus('0, GPU-1, NVIDIA L4, 23034, 570.86.15', 'GPU-1, 8.9', undefined)
const inventory: Inventory = {
  engines: [embeddedEngine],
  chosen: [embeddedEngine],
  devices: [{ gpu: gpu!, uses: [] }],
  unseen: null,
  cudaFolders: [],
}

/** Settings of a host whose pip knows only this index, and of programs only these and the system's */
async function makeHost(
  indexUrl: string,
  programs: Record<string, string> = {},
): Promise<{ settings: LocalRuntimeSettings; folder: string; bin: string }> {
  const folder = await makeFolder()
  const bin = join(folder, 'bin')
  await mkdir(bin)
  await mkdir(join(folder, 'engines'))
  for (const [name, text] of Object.entries(programs)) {
    await writeFile(join(bin, name), text)
    await chmod(join(bin, name), 0o755)
  }
  const environment = {
    PATH: `${bin}:${process.env['PATH']}`,
    HOME: folder,
    PIP_INDEX_URL: indexUrl,
    PIP_CONFIG_FILE: '/dev/null',
    PIP_NO_CACHE_DIR: '1',
    PIP_RETRIES: '1',
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
    NODE_LLAMA_CPP_GPU: 'false',
  }
  return { settings: makeSettings(folder, { environment }), folder, bin }
}

async function install(settings: LocalRuntimeSettings, request: string, freeBytes = 1e15) {
  const lines: string[] = []
  const onProgress = (line: string) => void lines.push(line)
  const readSpace = async () => ({ bavail: freeBytes, bsize: 1 })
  const change = await installEngine(settings, inventory, request, onProgress, null, readSpace)
  return { change, lines }
}

const listFolders = async (folder: string) => (await readdir(join(folder, 'engines'))).toSorted()
const vllm = (version: string, changes = {}) => ({ name: 'vllm', version, ...changes })

const hasPython = spawnSync('python3', ['-c', 'import ensurepip, venv'], { stdio: 'ignore' }).status === 0

describe.runIf(hasPython)('engines install vllm', () => {
  test('takes the newest version of pip’s index; others stay beside it, and the newest serves', async () => {
    const index = await startPackageIndex([vllm('9.1.0'), vllm('9.0.0')])
    const { settings, folder } = await makeHost(index.url)
    const newest = await install(settings, 'vllm')
    expect(newest.change).toEqual({ name: 'vllm-9.1.0' })
    expect(newest.lines.join('\n')).toContain('Installing vLLM 9.1.0 into')
    expect((await install(settings, 'vllm==9.0.0')).change).toEqual({ name: 'vllm-9.0.0' })
    expect((await install(settings, 'vllm==9.0.0')).lines).toEqual(['vllm-9.0.0 is already installed.'])
    expect(await listFolders(folder)).toEqual(['vllm-9.0.0', 'vllm-9.1.0'])

    const runtime = await openRuntime(settings)
    const { engines, installations } = await runtime.hostEngines!.report()
    expect(installations).toEqual(['vllm-9.0.0', 'vllm-9.1.0'])
    expect(engines.map(({ title, version, foundBy }) => [title, version, foundBy])).toEqual([
      ["Berth's engine", null, 'Berth'],
      ['vLLM', '9.1.0', 'engines install'],
      ['vLLM', '9.0.0', 'engines install'],
    ])
    expect(await runtime.hostEngines!.remove('vllm-9.1.0')).toEqual({ name: 'vllm-9.1.0' })
    expect(await listFolders(folder)).toEqual(['vllm-9.0.0'])
    expect(await runtime.hostEngines!.remove('vllm-9.1.0')).toEqual({
      refusal: 'There is no installation vllm-9.1.0. Installed: vllm-9.0.0.',
    })
  }, 300_000)

  test('a killed installation leaves nothing that counts, and the next one completes', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 300 }, (_, each) => [`vllm/part_${each}.py`, `value = ${each}\n`.repeat(100)]),
    )
    const index = await startPackageIndex([vllm('9.0.0', { files })])
    const { settings, folder } = await makeHost(index.url)
    const module = new URL(
      '../../src/adapters/model-runtime/local/inventory/install-engine.ts',
      import.meta.url,
    ).href
    const { logger: _, ...plain } = settings
    const program = `
      import { installEngine, triedXinference } from ${JSON.stringify(module)}
      const change = await installEngine(${JSON.stringify(plain)}, ${JSON.stringify(inventory)}, 'vllm==9.0.0', () => {})
      process.exit('name' in change ? 0 : 1)`
    for (let round = 0; round < 4; round++) {
      const installer = spawn(process.execPath, ['--input-type=module', '--eval', program], {
        stdio: 'inherit',
      })
      onTestFinished(() => void installer.kill('SIGKILL'))
      const exited = once(installer, 'exit')
      // At another moment in each round: while the environment is made, and while the package is unpacked
      await new Promise((resolve) => setTimeout(resolve, 500 + Math.random() * 4000))
      installer.kill('SIGKILL')
      await exited
      const complete = await listInstallations(folder)
      for (const each of complete) expect((await stat(join(each.folder, 'bin/vllm'))).isFile()).toBe(true)
    }
    expect((await install(settings, 'vllm==9.0.0')).change).toEqual({ name: 'vllm-9.0.0' })
    const parts = await readdir(join(folder, 'engines/vllm-9.0.0/lib'), { recursive: true })
    expect(parts.filter((name) => /part_\d+\.py$/.test(name))).toHaveLength(300)
  }, 300_000)

  test('what a killed installation has started ends, and disturbs the next one no more', async () => {
    const index = await startPackageIndex([vllm('9.0.0')])
    const { settings, folder } = await makeHost(index.url)
    const unfinished = join(folder, 'engines/vllm-9.0.0')
    await mkdir(join(unfinished, 'bin'), { recursive: true })
    const program = join(unfinished, 'bin/ensurepip')
    const deep = join(unfinished, 'lib/pip/internal')
    const script = `#!/bin/sh\nwhile :; do mkdir -p '${deep}'; : > '${deep}/file'; done\n`
    await writeFile(program, script, { mode: 0o755 })
    const left = spawn(program, { stdio: 'ignore' })
    onTestFinished(() => void left.kill('SIGKILL'))
    const ended = once(left, 'exit')
    await expect.poll(() => readdir(deep).catch(() => [])).toEqual(['file'])
    expect((await install(settings, 'vllm==9.0.0')).change).toEqual({ name: 'vllm-9.0.0' })
    expect(await ended).toEqual([null, 'SIGKILL'])
  })

  test('a second installation of the same version waits for no one, and says who is at it', async () => {
    const index = await startPackageIndex([vllm('9.0.0')])
    const { settings } = await makeHost(index.url)
    const both = await Promise.all([install(settings, 'vllm==9.0.0'), install(settings, 'vllm==9.0.0')])
    const changes = both.map(({ change }) => change)
    expect(changes).toContainEqual({ name: 'vllm-9.0.0' })
    expect(changes).toContainEqual({
      refusal: `Process ${process.pid} is already installing vllm-9.0.0. Wait for it, or end it.`,
    })
  }, 300_000)

  test.each([
    {
      name: 'no Python',
      programs: {},
      path: (bin: string) => bin,
      packages: [vllm('9.0.0')],
      refusal: /^vLLM needs Python, and this host has none\. Install Python 3\.10 or newer/,
    },
    {
      name: 'an old Python',
      programs: { python3: '#!/bin/sh\necho 3.8.10\n' },
      packages: [vllm('9.0.0')],
      refusal: /^Python 3\.8\.10 is too old: vLLM needs Python 3\.10 or newer\./,
    },
    {
      name: 'a Python without venv',
      programs: { python3: '#!/bin/sh\necho 3.12.3\necho "No module named venv" >&2\nexit 1\n' },
      packages: [vllm('9.0.0')],
      refusal: /^Python 3\.12\.3 has no venv\. Install it .*python3-venv/,
    },
    {
      name: 'a version that the index doesn’t have',
      request: 'vllm==1.0.0',
      packages: [vllm('9.0.0')],
      refusal: /^The index has nothing for this host: No matching distribution found for vllm==1\.0\.0\./,
    },
    {
      name: 'a wheel for another machine',
      packages: [vllm('9.0.0', { tags: 'cp38-abi3-manylinux_2_35_s390x' })],
      refusal: /^The index has nothing for this host: No matching distribution found for vllm/,
    },
    {
      name: 'a program that lies about its version',
      packages: [vllm('9.0.0', { told: '8.0.0' })],
      request: 'vllm==9.0.0',
      refusal: /^The index's vLLM has inconsistent version: expected '9\.0\.0', but metadata has '8\.0\.0'\./,
    },
    {
      name: 'something else',
      request: 'sglang',
      packages: [vllm('9.0.0')],
      refusal: /^Berth can't install sglang, but vllm, llama\.cpp, cuda and xinference/,
    },
  ])(
    '$name: refused with a clear sentence, and nothing is left',
    async ({ programs = {}, path, request = 'vllm', packages, refusal }) => {
      const index = await startPackageIndex(packages)
      const { settings, folder, bin } = await makeHost(index.url, programs)
      const environment =
        path === undefined ? settings.environment : { ...settings.environment, PATH: path(bin) }
      const { change } = await install({ ...settings, environment }, request)
      expect(change).toEqual({ refusal: expect.stringMatching(refusal) })
      expect(await listFolders(folder)).toEqual([])
    },
    300_000,
  )

  test('xinference: the tried version with its engine, and with vLLM where GPUs are', async () => {
    const cluster = (version: string, cmdline: string) => ({
      name: 'xinference',
      version,
      extras: { vllm: 'vllm' },
      files: { 'xinference/deploy/cmdline.py': cmdline },
    })
    const { version, engine } = triedXinference
    const index = await startPackageIndex([
      cluster(version, ''),
      cluster('9.9.9', 'import nothing_of_this_name'),
      { name: 'xllamacpp', version: engine.split('==')[1]! },
      vllm('9.0.0'),
    ])
    const { settings, folder } = await makeHost(index.url)
    const name = `xinference-${version}`
    expect((await install(settings, 'xinference')).change).toEqual({ name })
    const packages = await readdir(join(folder, `engines/${name}/lib`), { recursive: true })
    for (const each of ['xllamacpp', 'vllm'])
      expect(packages.some((path) => path.endsWith(`/${each}`))).toBe(true)
    expect((await install(settings, 'xinference==9.9.9')).change).toEqual({
      refusal: expect.stringMatching(/^Xinference 9\.9\.9 can't be used: .*No module named.*VERSION\.$/),
    })
    expect(await listFolders(folder)).toEqual([name])
    expect((await listInstallations(folder)).map((each) => each.name)).toEqual(['xinference'])
  }, 300_000)

  test('an index that can’t be reached', async () => {
    const { settings, folder } = await makeHost('http://127.0.0.1:9/simple/')
    for (const request of ['vllm', 'cuda']) {
      const { change } = await install(settings, request)
      expect(change).toEqual({
        refusal: expect.stringMatching(/^The package index can't be reached \(.+\)\. Check the network/),
      })
    }
    expect(await listFolders(folder)).toEqual([])
  }, 300_000)

  test('too little space on the disk', async () => {
    const { settings } = await makeHost('http://127.0.0.1:9/simple/')
    expect((await install(settings, 'vllm', 3.2e9)).change).toEqual({
      refusal:
        'vLLM takes up to 12.0 GB in DATA_DIR, but only 3.2 GB are free. Free some space, or set DATA_DIR to a folder on another disk.',
    })
  })
})

describe.runIf(process.platform === 'linux')('engines install cuda', () => {
  const processor = process.arch === 'x64' ? 'x86_64' : 'aarch64'
  const tags = `py3-none-manylinux2014_${processor}`
  const runtime = {
    name: 'nvidia-cuda-runtime-cu12',
    version: '12.9.79',
    tags: `py3-none-manylinux_2_17_${processor}.manylinux2014_${processor}`,
    files: { 'nvidia/cuda_runtime/lib/libcudart.so.12': 'the runtime' },
  }
  const matrices = {
    name: 'nvidia-cublas-cu12',
    version: '12.9.1.4',
    tags,
    files: { 'nvidia/cublas/lib/libcublas.so.12': 'the matrices', 'nvidia/cublas/include/cublas.h': 'no' },
  }

  test.each([false, true])(
    'unpacks the libraries without Python (an index without JSON: %s)',
    async (html) => {
      const older = { ...runtime, version: '12.8.90', files: {} }
      const index = await startPackageIndex([older, runtime, matrices], { html })
      const { settings, folder } = await makeHost(index.url)
      const environment = { ...settings.environment, PATH: '/nonexistent' }
      expect((await install({ ...settings, environment }, 'cuda')).change).toEqual({ name: 'cuda-12.9.79' })
      const lib = join(folder, 'engines/cuda-12.9.79/lib')
      expect((await readdir(lib)).toSorted()).toEqual(['libcublas.so.12', 'libcudart.so.12'])
      expect(await readFile(join(lib, 'libcudart.so.12'), 'utf8')).toBe('the runtime')
    },
  )

  test('a damaged wheel, a wheel for other machines and an index without the package are refused', async () => {
    for (const [packages, options, refusal] of [
      [[runtime, matrices], { damaged: true }, /has arrived damaged: its SHA-256 differs/],
      [
        [{ ...runtime, tags: 'py3-none-manylinux2014_s390x' }, matrices],
        {},
        /for other machines only, not for linux on/,
      ],
      [[matrices], {}, /^The package index .* returned 404/],
    ] as const) {
      const index = await startPackageIndex(packages, options)
      const { settings, folder } = await makeHost(index.url)
      const { change } = await install(settings, 'cuda')
      expect(change).toEqual({ refusal: expect.stringMatching(refusal) })
      expect(await listFolders(folder)).toEqual([])
    }
  })
})
