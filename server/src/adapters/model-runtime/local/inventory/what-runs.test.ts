import { expect, test } from 'vitest'
import { parseGpus } from '../gpus.ts'
import type { Gpu } from '../gpus.ts'
import { embeddedEngine } from './find-engines.ts'
import { chooseCuda } from './install-engine.ts'
import { chooseEngines, describeObstacle, findObstacle } from './judge.ts'
import type { DeviceReport, FoundEngine, ProbeResult } from './types.ts'

/** Names, compute capabilities and MiB as nvidia-smi prints them */
const cards = [
  ['Tesla T4', 7.5, 15_360],
  ['NVIDIA A10', 8.6, 23_028],
  ['NVIDIA L4', 8.9, 23_034],
  ['NVIDIA A100 80GB PCIe', 8, 81_920],
  ['NVIDIA H100 80GB HBM3', 9, 81_559],
  ['NVIDIA H200', 9, 143_771],
  ['NVIDIA B200', 10, 183_359],
  ['NVIDIA GeForce RTX 3090', 8.6, 24_576],
  ['NVIDIA GeForce RTX 4090', 8.9, 24_564],
  ['NVIDIA GeForce RTX 5090', 12, 32_607],
] as const
const drivers = ['535.288', '550.163', '570.211', '580.159', '590.48'] as const
const runtimes = ['absent', '12', '13'] as const
type Runtime = (typeof runtimes)[number]

const vllm: FoundEngine = {
  name: 'vllm',
  title: 'vLLM',
  origin: 'path',
  command: ['/usr/bin/vllm'],
  version: '0.33.0',
  usesCpu: false,
  problem: null,
  installation: null,
}

/** What a probe of Berth's engine finds: the table of decision 19, and CUDA's rules for drivers. */
function probeEmbedded(runtime: Runtime, driver: number, hasMachineCode: boolean): ProbeResult {
  const missing = (major: number): ProbeResult => ({
    works: false,
    problem: { kind: 'missing libraries', libraries: [`libcudart.so.${major}`, `libcublas.so.${major}`] },
  })
  if (runtime === 'absent') return missing(13)
  if (runtime === '12') {
    return driver >= 550
      ? { works: true, library: 'cuda-12' }
      : { works: false, problem: { kind: 'old driver', detail: 'unsupported toolchain' } }
  }
  const works = driver >= (hasMachineCode ? 580 : 590)
  return works ? { works, library: 'cuda-13' } : missing(12)
}

const rows = cards.flatMap(([name, capability, mebibytes]) =>
  drivers.flatMap((driver) =>
    runtimes.flatMap((runtime) =>
      [false, true].map((hasVllm) => ({ name, capability, mebibytes, driver, runtime, hasVllm })),
    ),
  ),
)

test.each(rows)(
  '$name, driver $driver, CUDA runtime $runtime, vLLM $hasVllm',
  ({ name, capability, mebibytes, driver, runtime, hasVllm }) => {
    const [gpu] = parseGpus(
      `0, GPU-1, ${name}, ${mebibytes}, ${driver}`,
      `GPU-1, ${capability.toFixed(1)}`,
      undefined,
    )
    const major = Number.parseInt(driver, 10)
    const hasMachineCode = [8.6, 8.9, 12].includes(capability)
    const onEmbedded = probeEmbedded(runtime, major, hasMachineCode)
    const tooOld: ProbeResult = { works: false, problem: { kind: 'old driver', detail: 'driver too old' } }
    const onVllm: ProbeResult = major >= 550 ? { works: true, library: null } : tooOld
    const engines = [embeddedEngine, ...(hasVllm ? [vllm] : [])]
    const device: DeviceReport = {
      gpu: gpu!,
      uses: [
        { engine: embeddedEngine, result: onEmbedded },
        ...(hasVllm ? [{ engine: vllm, result: onVllm }] : []),
      ],
    }
    const chosen = chooseEngines(engines, [device])
    expect(chosen).toContain(embeddedEngine)
    expect(chosen.includes(vllm)).toBe(hasVllm && onVllm.works)

    const usable = onEmbedded.works || (hasVllm && onVllm.works)
    const obstacle = findObstacle(device, chosen, engines)
    expect(obstacle === null).toBe(usable)
    if (obstacle === null) return
    const text = describeObstacle(obstacle)
    expect(text).toMatch(
      new RegExp(`^${name} \\(driver ${driver}\\): not usable yet\\. Berth's engine needs [^.]+(\\.[^.]+)* `),
    )
    if (!hasVllm) expect(text).toMatch(/ Run: npm run admin -- engines install vllm \(8 GB\)\.$/)
    else expect(text).toMatch(/Run: npm run admin -- engines install cuda\.$|Update the driver\.$/)
  },
)

/** What can be installed beside the driver of an AMD GPU */
const programs = {
  none: [],
  'vLLM for ROCm': [['vllm', true]],
  'vLLM for CUDA': [['vllm', false]],
  'llama-server for Vulkan': [['llama-server', true]],
  'llama-server for the CPU, and vLLM for ROCm': [
    ['llama-server', false],
    ['vllm', true],
  ],
} as const

test.each(
  drivers.flatMap((driver) =>
    Object.entries(programs).map(([installed, list]) => ({ driver, installed, list: [...list] })),
  ),
)('AMD Instinct MI300X, driver $driver, $installed', ({ driver, list }) => {
  const mi300x: Gpu = {
    vendor: 'amd',
    uuid: 'GPU-1',
    name: 'AMD Instinct MI300X',
    memoryBytes: 192 * 2 ** 30,
    driverVersion: driver,
    computeCapability: null,
  }
  const other = (builtFor: string): ProbeResult => ({
    works: false,
    problem: { kind: 'other hardware', builtFor },
  })
  const uses = [
    { engine: embeddedEngine, result: other("NVIDIA's GPUs and the CPU") },
    ...list.map(([name, isUsable]) => ({
      engine: { ...engine(name, 'path', '1'), title: name },
      result: isUsable ? works : other('other hardware than this GPU'),
    })),
  ]
  const device: DeviceReport = { gpu: mi300x, uses }
  const engines = uses.map((use) => use.engine)
  const chosen = chooseEngines(engines, [device])
  const usable = list.filter(([, isUsable]) => isUsable).map(([name]) => name)
  expect(chosen.filter(({ name }) => name !== 'embedded').map(({ name }) => name)).toEqual(usable)
  const obstacle = findObstacle(device, chosen, engines)
  expect(obstacle === null).toBe(usable.length > 0)
  if (obstacle === null) return
  const text = describeObstacle(obstacle)
  expect(text).toContain(
    `AMD Instinct MI300X (driver ${driver}): not usable yet. Berth's engine is built for NVIDIA's GPUs`,
  )
  expect(text).not.toMatch(/CUDA|engines install/)
  expect(text).toMatch(
    /Install vLLM for ROCm, or llama-server for ROCm or Vulkan, in PATH, or name it in a setting\.$/,
  )
})

test('an H100 with its driver alone says which library is missing, and what to do', () => {
  const [gpu] = parseGpus('0, GPU-1, NVIDIA H100 80GB, 81559, 580.159', 'GPU-1, 9.0', undefined)
  const problem = { kind: 'missing libraries', libraries: ['libcublas.so.13'] } as const
  const device: DeviceReport = {
    gpu: gpu!,
    uses: [{ engine: embeddedEngine, result: { works: false, problem } }],
  }
  const obstacle = findObstacle(device, [embeddedEngine], [embeddedEngine])!
  expect(describeObstacle(obstacle)).toBe(
    "NVIDIA H100 80GB (driver 580.159): not usable yet. Berth's engine needs CUDA's runtime (libcublas.so.13 is missing). " +
      'Run: npm run admin -- engines install vllm (8 GB).',
  )
})

test('without the library of the driver, nothing is to be installed but that', () => {
  const [gpu] = parseGpus('0, GPU-1, NVIDIA H100 80GB, 81559, 580.159', 'GPU-1, 9.0', undefined)
  const libraries = ['libcudart.so.13', 'libcublas.so.13', 'libcuda.so.1']
  const problem = { kind: 'missing libraries', libraries } as const
  const device: DeviceReport = {
    gpu: gpu!,
    uses: [{ engine: embeddedEngine, result: { works: false, problem } }],
  }
  expect(describeObstacle(findObstacle(device, [embeddedEngine], [embeddedEngine])!)).toBe(
    "NVIDIA H100 80GB (driver 580.159): not usable yet. Berth's engine needs the driver's library (libcuda.so.1 is missing). " +
      "Install NVIDIA's driver with its libraries for computing (on Ubuntu libnvidia-compute), " +
      'or start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility.',
  )
})

test.each([
  ['Tesla T4', 7.5, '580.159', 'cuda-12'],
  ['Tesla T4', 7.5, '590.48', 'cuda-13'],
  ['NVIDIA L4', 8.9, '570.211', 'cuda-12'],
  ['NVIDIA L4', 8.9, '580.159', 'cuda-13'],
  ['NVIDIA H100', 9, '580.159', 'cuda-12'],
  ['NVIDIA B200', 10, '590.48', 'cuda-13'],
] as const)(
  'engines install cuda on %s (%d, driver %s) takes %s',
  (_name, computeCapability, driverVersion, library) => {
    expect(chooseCuda([{ computeCapability, driverVersion }])).toBe(library)
  },
)

const works: ProbeResult = { works: true, library: null }
const broken: ProbeResult = { works: false, problem: { kind: 'broken', detail: 'its probe failed' } }
const engine = (name: FoundEngine['name'], origin: FoundEngine['origin'], version: string): FoundEngine => ({
  ...vllm,
  name,
  origin,
  version,
  usesCpu: name !== 'vllm',
})
const [gpu] = parseGpus('0, GPU-1, NVIDIA L4, 23034, 580.159', 'GPU-1, 8.9', undefined)

test.each([
  {
    name: 'a setting comes before what Berth has installed',
    engines: [engine('vllm', 'setting', '1'), engine('vllm', 'installed', '2')],
    results: [works, works],
    expected: ['vllm setting 1'],
  },
  {
    name: 'the newest installation comes first',
    engines: [
      engine('vllm', 'installed', '2'),
      engine('vllm', 'installed', '1'),
      engine('vllm', 'path', '3'),
    ],
    results: [works, works, works],
    expected: ['vllm installed 2'],
  },
  {
    name: 'a version that can’t use the GPU is passed over',
    engines: [engine('vllm', 'installed', '2'), engine('vllm', 'installed', '1')],
    results: [broken, works],
    expected: ['vllm installed 1'],
  },
  {
    name: 'llama-server in PATH serves only where Berth’s own engine can’t use the GPU',
    engines: [embeddedEngine, engine('llama-server', 'path', '1')],
    results: [works, works],
    expected: ['embedded bundled null'],
  },
  {
    name: 'llama-server in PATH stands in for Berth’s own engine',
    engines: [embeddedEngine, engine('llama-server', 'path', '1')],
    results: [broken, works],
    expected: ['llama-server path 1'],
  },
  {
    name: 'vLLM for GPUs that can use none is not chosen',
    engines: [embeddedEngine, engine('vllm', 'path', '1')],
    results: [works, broken],
    expected: ['embedded bundled null'],
  },
])('$name', ({ engines, results, expected }) => {
  const uses = engines.map((each, index) => ({ engine: each, result: results[index]! }))
  const chosen = chooseEngines(engines, [{ gpu: gpu!, uses }])
  expect(chosen.map(({ name, origin, version }) => `${name} ${origin} ${version}`)).toEqual(expected)
})

test('without GPUs, llama-server in PATH changes nothing, and vLLM serves if it is built for the CPU', () => {
  const onCpu = { ...engine('vllm', 'path', '2'), usesCpu: true }
  const engines = [embeddedEngine, engine('llama-server', 'path', '1'), engine('vllm', 'path', '3'), onCpu]
  expect(chooseEngines(engines, [])).toEqual([embeddedEngine, onCpu])
})
