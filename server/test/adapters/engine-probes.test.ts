import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runningAsRoot } from '../../src/base/account.ts'
import { engineAccount } from '../../src/adapters/model-runtime/local/engine/containment.ts'
import { createLocalRuntime } from '../../src/adapters/model-runtime/local/runtime.ts'
import type { LocalRuntimeSettings } from '../../src/adapters/model-runtime/local/settings.ts'
import { makeFolder, makeSettings } from './local-runtime-support.ts'

interface HostPrograms {
  /** What the double of Berth's probe does; it sees `isCuda12` if the build for CUDA 13 is hidden */
  probe?: string
  /** Scripts in PATH besides nvidia-smi */
  programs?: Record<string, string>
  settings?: Partial<LocalRuntimeSettings>
}

/** A host with an H100, whose programs and probes are doubles. */
async function makeHost({ probe = 'print({ works: false })', programs = {}, settings = {} }: HostPrograms) {
  const folder = await makeFolder()
  const bin = join(folder, 'bin')
  await mkdir(bin)
  const all: Record<string, string> = {
    'nvidia-smi': `#!/bin/sh
case "$*" in
  *compute_cap*) echo 'GPU-1, 9.0' ;;
  *memory.used*) echo 'GPU-1, 00000000:41:00.0, 0' ;;
  *query-gpu=index*) echo '0, GPU-1, NVIDIA H100 80GB, 81559, 580.159' ;;
esac\n`,
    ...programs,
  }
  for (const [name, text] of Object.entries(all)) {
    await writeFile(join(bin, name), text)
    await chmod(join(bin, name), 0o755)
  }
  const probeProgram = join(folder, 'probe.mjs')
  await writeFile(
    probeProgram,
    `import { appendFileSync } from 'node:fs'
     appendFileSync(${JSON.stringify(join(folder, 'probes'))}, process.env.CUDA_VISIBLE_DEVICES + '\\n')
     const isCuda12 = (process.env.LD_LIBRARY_PATH ?? '').includes('without-cuda-13')
     const print = (result) => console.log(JSON.stringify(result))
     const missing = { 'cuda-13': ['libcudart.so.13', 'libcublas.so.13'], 'cuda-12': ['libcudart.so.12'] }
     ${probe}`,
  )
  // The account of engines writes it, too.
  await writeFile(join(folder, 'probes'), '')
  await chmod(join(folder, 'probes'), 0o666)
  const environment = { PATH: `${bin}:/usr/bin:/bin`, HOME: folder }
  const warnings: string[] = []
  const logger = { info() {}, warn: (_details: object, message: string) => void warnings.push(message) }
  const made = makeSettings(folder, { environment, probeProgram, logger, ...settings })
  return {
    warnings,
    settings: made,
    countProbes: async () =>
      (await readFile(join(folder, 'probes'), 'utf8').catch(() => '')).split('\n').length - 1,
    async open() {
      const runtime = await createLocalRuntime(made)
      onTestFinished(() => runtime.close())
      return runtime
    },
  }
}

const card = 'NVIDIA H100 80GB (driver 580.159)'

test('a GPU is offered once a probe has computed on it, and the result is kept', async () => {
  const host = await makeHost({ probe: `print({ works: true, library: 'cuda-13' })` })
  const runtime = await host.open()
  const offers = await runtime.listOffers()
  expect(offers.map(({ instanceType, formats, obstacle }) => [instanceType, formats, obstacle])).toEqual([
    ['local-gpu', ['ggufv2'], undefined],
    ['local-cpu', ['ggufv2'], undefined],
  ])
  expect(host.warnings).toEqual([])
  await host.open()
  expect(await host.countProbes()).toBe(1)
})

test('a toolkit of CUDA that CUDA_HOME or CUDA_PATH names is found, after LD_LIBRARY_PATH', async () => {
  const host = await makeHost({
    probe: `const isFound = process.env.LD_LIBRARY_PATH === '/own:/opt/cuda/lib64'
            print({ works: isFound, library: 'cuda-13', reason: 'x', missing })`,
  })
  Object.assign(host.settings.environment, {
    LD_LIBRARY_PATH: '/own',
    CUDA_HOME: '/opt/cuda',
    CUDA_PATH: '/opt/cuda',
  })
  const runtime = await host.open()
  expect((await runtime.listOffers())[0]).toMatchObject({ instanceType: 'local-gpu', formats: ['ggufv2'] })
})

test('a driver alone: the start, the offer, the refusal and the report say what is missing and what to do', async () => {
  const host = await makeHost({ probe: 'print({ works: false, library: null, reason: "x", missing })' })
  const runtime = await host.open()
  const sentence =
    `${card}: not usable yet. Berth's engine needs CUDA's runtime (libcudart.so.13 and libcublas.so.13 are missing). ` +
    'Run: npm run admin -- engines install vllm (8 GB).'
  expect(host.warnings).toEqual([sentence])
  expect(await runtime.listOffers()).toMatchObject([
    { instanceType: 'local-gpu', formats: [], obstacle: sentence },
    { instanceType: 'local-cpu' },
  ])
  const { gpus } = await runtime.hostEngines!.report()
  expect(gpus.map(({ name, obstacle }) => [name, `${obstacle?.reason} ${obstacle?.remedy}`])).toEqual([
    [card, sentence],
  ])
  // A library may have been installed since.
  await host.open()
  expect(await host.countProbes()).toBe(2)
})

test.each([
  {
    name: 'dies at the computation, but not with the build for CUDA 12',
    probe: `if (isCuda12) print({ works: true, library: 'cuda-12' })
            else {
              console.error('CUDA error: the provided PTX was compiled with an unsupported toolchain.')
              process.kill(process.pid, 'SIGABRT')
            }`,
    expected: null,
  },
  {
    name: 'dies at the computation, and has no other build',
    probe: `if (isCuda12) print({ works: false, reason: 'x', library: null, missing })
            else {
              console.error('CUDA error: the provided PTX was compiled with an unsupported toolchain.')
              process.kill(process.pid, 'SIGABRT')
            }`,
    expected: "Berth's engine needs CUDA's runtime (libcudart.so.12 is missing).",
  },
  {
    name: 'has the runtime of CUDA 12 alone, with which it fails',
    probe: `missing['cuda-12'] = []
            print({ works: false, reason: isCuda12 ? 'with CUDA 12' : 'with CUDA 13', library: null, missing })`,
    expected: "Berth's engine is not usable: its probe failed: with CUDA 12.",
  },
  {
    name: 'dies with both builds',
    probe: `process.kill(process.pid, 'SIGSEGV'); await new Promise(() => setInterval(() => {}, 1000))`,
    expected: "Berth's engine is not usable: probed on this GPU, it was killed by SIGSEGV.",
  },
  {
    name: 'hangs',
    probe: 'setInterval(() => {}, 1000)',
    settings: { probeTimeoutMs: 100 },
    expected: "Berth's engine is not usable: probed on this GPU, it did not respond within 2 seconds.",
  },
  {
    name: 'prints nonsense',
    probe: `console.log('everything is fine')`,
    expected: 'Berth\'s engine is not usable: probed on this GPU, it printed "everything is fine".',
  },
])(
  'a probe that $name',
  async ({ probe, settings = {}, expected }) => {
    const host = await makeHost({ probe, settings })
    const runtime = await host.open()
    const [offer] = await runtime.listOffers()
    if (expected === null) {
      expect(offer).toMatchObject({ instanceType: 'local-gpu', formats: ['ggufv2'] })
      expect(host.warnings).toEqual([])
    } else {
      expect(host.warnings).toEqual([
        `${card}: not usable yet. ${expected} Run: npm run admin -- engines install vllm (8 GB).`,
      ])
    }
  },
  60_000,
)

/** A vLLM whose Python is a shell that knows the two questions that Berth asks. */
function makeVllm(version: string, onGpu: string): Record<string, string> {
  const python = `#!/bin/sh
case "$*" in
  *importlib.metadata*) ${version} ;;
  *torch*) ${onGpu} ;;
esac\n`
  return { 'python-double': python }
}

const vllmProblems = [
  {
    name: 'multiplies the matrices',
    version: 'echo 0.33.0',
    onGpu: 'echo works',
    expected: null,
  },
  {
    name: 'is built for the CPU',
    version: 'echo 0.33.0+cpu',
    onGpu: 'echo cpu',
    expected: 'vLLM 0.33.0 is built for the CPU.',
  },
  {
    name: 'needs a newer driver',
    version: 'echo 0.33.0',
    onGpu: 'echo "RuntimeError: The NVIDIA driver on your system is too old" >&2; exit 1',
    expected: 'vLLM 0.33.0 needs a newer driver for this GPU (driver on your system is too old).',
  },
  {
    name: 'tells no version',
    version: 'echo no version',
    onGpu: 'echo works',
    expected: 'vLLM is not usable: asked for its version, it told none.',
  },
  {
    name: 'hangs when asked for its version',
    version: 'sleep 1000',
    onGpu: 'echo works',
    expected: 'vLLM is not usable: asked for its version, it did not respond within 1 seconds.',
  },
  {
    name: 'dies when asked for its version',
    version: 'echo "No package metadata was found for vllm" >&2; exit 1',
    onGpu: 'echo works',
    expected:
      'vLLM is not usable: asked for its version, it ended with exit code 1: No package metadata was found for vllm.',
  },
]

test.each(vllmProblems)(
  'a vLLM in PATH that $name',
  async ({ version, onGpu, expected }) => {
    const host = await makeHost({
      probe: 'print({ works: false, library: null, reason: "x", missing })',
      programs: makeVllm(version, onGpu),
      settings: { versionTimeoutMs: 500 },
    })
    const bin = host.settings.environment['PATH']!.split(':')[0]!
    await writeFile(join(bin, 'vllm'), `#!${join(bin, 'python-double')}\n`)
    await chmod(join(bin, 'vllm'), 0o755)
    const runtime = await host.open()
    const [offer] = await runtime.listOffers()
    const { engines } = await runtime.hostEngines!.report()
    const vllm = engines.find(({ title }) => title === 'vLLM')!
    expect(vllm.foundBy).toBe('PATH')
    if (expected === null) {
      expect(offer?.formats).toContain('pytorch')
      expect(vllm).toMatchObject({ version: '0.33.0', gpus: [card], isUsed: true })
    } else {
      expect(offer?.formats).toEqual([])
      expect(vllm).toMatchObject({ gpus: [], isUsed: false, reason: expect.stringContaining(expected) })
    }
  },
  30_000,
)

test.runIf(runningAsRoot())(
  'a program in PATH that engines can’t read is not used, and the report says what to do',
  async () => {
    const host = await makeHost({ programs: { vllm: '#!/bin/sh\n' } })
    const { dataDirectory, environment } = host.settings
    const [bin] = environment['PATH']!.split(':')
    await chmod(dataDirectory, 0o755)
    await chmod(bin!, 0o700)
    const runtime = await host.open()
    const { engines } = await runtime.hostEngines!.report()
    expect(engines.find(({ title }) => title === 'vLLM')).toMatchObject({
      isUsed: false,
      reason:
        `vLLM is not usable: the engines' user id ${engineAccount.uid} can't read ${bin}/vllm; ` +
        'put it in a folder that all users can open, such as /opt.',
    })
  },
  30_000,
)

test('a llama-server in PATH stands in on a GPU that Berth’s own engine can’t use', async () => {
  const program = `#!/bin/sh
case "$*" in
  --version) echo 'version: 10964 (0123abc)' ;;
  --list-devices) printf 'Available devices:\\n  CUDA0: NVIDIA H100 80GB (81079 MiB, 80000 MiB free)\\n' ;;
esac\n`
  const host = await makeHost({
    probe: 'print({ works: false, library: null, reason: "x", missing })',
    programs: { 'llama-server': program },
  })
  const runtime = await host.open()
  expect(runtime.engines.map(({ name, version }) => [name, version])).toEqual([['llama.cpp', '10964']])
  expect((await runtime.listOffers())[0]).toMatchObject({ instanceType: 'local-gpu', formats: ['ggufv2'] })
})

/** Doubles of the programs of a host with an MI325X, of which a program of somebody uses 21.1 GiB. */
const amdPrograms = {
  'nvidia-smi': '#!/bin/sh\necho "No devices were found"; exit 6\n',
  'amd-smi': `#!/bin/sh
case "$*" in
  list*) echo '[{"gpu": 0, "bdf": "0000:83:00.0", "uuid": "9fff74b9-0000-1000-8044-4a2fb30adeb0"}]' ;;
  static*) echo '[{"gpu": 0, "asic": {"market_name": "AMD Instinct MI325X"}, "vram": {"size": {"value": 262128, "unit": "MB"}},
    "driver": {"name": "amdgpu", "version": "6.12.12"}}]' ;;
  metric*) echo '[{"gpu": 0, "mem_usage": {"used_vram": {"value": 21900, "unit": "MB"}}}]' ;;
  process*) echo '[{"gpu": 0, "process_list": [{"process_info": {"name": "python3", "pid": 4194000,
    "memory_usage": {"vram_mem": {"value": 22649241600, "unit": "B"}}}}]}]' ;;
esac\n`,
}

test('an AMD GPU is offered to an engine that sees it alone, with the memory that others leave', async () => {
  const program = `#!/bin/sh
[ "$1" = --version ] && echo 'version: 10964 (0123abc)'
[ "$1 $ROCR_VISIBLE_DEVICES $HIP_VISIBLE_DEVICES" = '--list-devices GPU-9f444a2fb30adeb0 0' ] &&
  printf 'Available devices:\\n  ROCm0: AMD Instinct MI325X (262128 MiB, 240000 MiB free)\\n'
exit 0\n`
  const host = await makeHost({ programs: { ...amdPrograms, 'llama-server': program } })
  const runtime = await host.open()
  const [offer] = await runtime.listOffers()
  expect(offer).toMatchObject({
    instanceType: 'local-gpu',
    vendor: 'amd',
    gpuModel: 'AMD Instinct MI325X',
    formats: ['ggufv2'],
    inUse: { programs: expect.stringMatching(/^python3 \(pid 4194000.*uses 21\.1 GiB/) },
  })
  expect(offer!.memoryBytes).toBeLessThan(262_128 * 2 ** 20 * 0.95 - 21_000 * 2 ** 20)
  expect(await host.countProbes()).toBe(0)
})

test('an AMD GPU without an engine for it: the start says what to install', async () => {
  const host = await makeHost({ programs: amdPrograms })
  await host.open()
  expect(host.warnings).toEqual([
    "AMD Instinct MI325X (driver 6.12.12): not usable yet. Berth's engine is built for NVIDIA's GPUs and the CPU. " +
      'Install vLLM for ROCm, or llama-server for ROCm or Vulkan, in PATH, or name it in a setting.',
  ])
})

test.each([
  [
    'fails',
    'echo "NVIDIA-SMI has failed because it couldn\'t communicate with the NVIDIA driver." >&2; exit 9',
    "it ended with exit code 9: NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
  ],
  ['dies', 'kill -9 $$', 'it was killed by SIGKILL'],
  ['prints nonsense', 'echo "<html>"', 'it printed "<html>"'],
  ['is for another machine', 'exec ./nowhere', 'it ended with exit code 127: .*'],
])(
  'an nvidia-smi that %s: the CPU serves, and the start and the report say why',
  async (_name, script, clause) => {
    const host = await makeHost({ programs: { 'nvidia-smi': `#!/bin/sh\n${script}\n` } })
    const runtime = await host.open()
    const sentence = new RegExp(
      `^NVIDIA's GPUs are not usable: nvidia-smi was asked for them, and ${clause}\\. Repair the driver, until nvidia-smi shows them\\.$`,
    )
    expect(host.warnings).toEqual([expect.stringMatching(sentence)])
    expect((await runtime.listOffers()).map(({ instanceType }) => instanceType)).toEqual(['local-cpu'])
    const { gpus } = await runtime.hostEngines!.report()
    expect(gpus.map(({ obstacle }) => `${obstacle!.reason} ${obstacle!.remedy}`)).toEqual(host.warnings)
  },
)
