import type { Gpu } from '../gpus.ts'
import type { DeviceReport, EngineProblem, FoundEngine, ProbeResult } from './types.ts'

/** The disk that vLLM takes, with PyTorch and CUDA */
const vllmSize = '8 GB'
/** vLLM's kernels need this compute capability. */
const vllmCapability = 7

/** Engines that load the same formats, in the order in which Berth takes the first that works. */
const alternatives: readonly (readonly [FoundEngine['name'], FoundEngine['origin']])[][] = [
  [
    ['llama-server', 'setting'],
    ['llama-server', 'installed'],
    ['embedded', 'bundled'],
    ['llama-server', 'path'],
  ],
  [
    ['vllm', 'setting'],
    ['vllm', 'installed'],
    ['vllm', 'path'],
  ],
]

/**
 * Chooses at most one engine for each format: what the operator set, then what Berth installed (the newest
 * version first), then its own engine, then what is in PATH. With GPUs, an engine that can use one of them
 * comes before those that can't, except for a setting.
 */
export function chooseEngines(
  engines: readonly FoundEngine[],
  devices: readonly DeviceReport[],
): FoundEngine[] {
  const runs = (engine: FoundEngine) => devices.some((device) => findResult(device, engine)?.works === true)
  return alternatives.flatMap((order) => {
    const candidates = order.flatMap(([name, origin]) =>
      engines.filter((engine) => engine.name === name && engine.origin === origin && engine.problem === null),
    )
    const [first] = candidates
    if (first === undefined) return []
    if (devices.length === 0) return candidates.find(({ usesCpu }) => usesCpu) ?? []
    if (first.origin === 'setting' || runs(first)) return first
    // The CPU beside GPUs loads only GGUF files.
    return candidates.find(runs) ?? candidates.find(({ name }) => name !== 'vllm') ?? []
  })
}

/** The versions of a chosen engine that can serve, newest first. What the operator updates has no choice. */
export function listVersions(
  engines: readonly FoundEngine[],
  devices: readonly DeviceReport[],
  { name, origin }: FoundEngine,
): FoundEngine[] {
  if (origin !== 'installed') return []
  return engines.filter(
    (engine) =>
      engine.name === name &&
      engine.origin === origin &&
      engine.problem === null &&
      (devices.length === 0
        ? engine.usesCpu
        : devices.some((device) => findResult(device, engine)?.works === true)),
  )
}

export function findResult({ uses }: DeviceReport, engine: FoundEngine): ProbeResult | undefined {
  return uses.find((use) => use.engine === engine)?.result
}

/** Names a GPU in sentences: `NVIDIA H100 80GB (driver 580.159)`. */
export function nameDevice({ name, driverVersion }: Gpu): string {
  return driverVersion === '' ? name : `${name} (driver ${driverVersion})`
}

/** Names an engine in sentences: `vLLM 0.33.0`. */
export function nameEngine({ title, version }: FoundEngine): string {
  return version === null ? title : `${title} ${version}`
}

/** Why an engine can't be used, as a sentence that names it. */
export function describeProblem(engine: FoundEngine, problem: EngineProblem): string {
  const name = nameEngine(engine)
  switch (problem.kind) {
    case 'missing libraries': {
      const ofDriver = problem.libraries.find(isOfDriver)
      if (ofDriver !== undefined) return `${name} needs the driver's library (${ofDriver} is missing).`
      const verb = problem.libraries.length === 1 ? 'is' : 'are'
      return `${name} needs CUDA's runtime (${problem.libraries.join(' and ')} ${verb} missing).`
    }
    case 'old driver':
      return `${name} needs a newer driver for this GPU (${problem.detail}).`
    case 'other hardware':
      return `${name} is built for ${problem.builtFor}.`
    case 'broken':
      return `${name} is not usable: ${problem.detail}.`
  }
}

/** Without the driver's own library, no runtime of CUDA helps. */
function isOfDriver(library: string): boolean {
  return library.startsWith('libcuda.so')
}

/** What a person does so that an engine can use a GPU. */
export interface Obstacle {
  /** Why no chosen engine can use it, as sentences */
  reason: string
  /** What to do next, as a sentence */
  remedy: string
}

/** Why none of the chosen engines can use a GPU, and what to do; null if one can. */
export function findObstacle(
  device: DeviceReport,
  chosen: readonly FoundEngine[],
  engines: readonly FoundEngine[],
): Obstacle | null {
  if (chosen.some((engine) => findResult(device, engine)?.works === true)) return null
  const tried = device.uses.flatMap(({ engine, result }) => (result.works ? [] : [{ engine, result }]))
  const reasons = [
    ...tried.map(({ engine, result }) => describeProblem(engine, result.problem)),
    ...engines.flatMap((engine) => (engine.problem === null ? [] : describeProblem(engine, engine.problem))),
  ]
  return {
    reason: `${nameDevice(device.gpu)}: not usable yet. ${[...new Set(reasons)].join(' ')}`,
    remedy: findRemedy(device, tried),
  }
}

/** Why NVIDIA's program can't tell the GPUs, from a clause about it. */
export function describeUnseen(problem: string): Obstacle {
  return {
    reason: `NVIDIA's GPUs are not usable: nvidia-smi was asked for them, and ${problem}.`,
    remedy: 'Repair the driver, until nvidia-smi shows them.',
  }
}

/** An obstacle as one text. */
export function describeObstacle({ reason, remedy }: Obstacle): string {
  return `${reason} ${remedy}`
}

function findRemedy(
  { gpu }: DeviceReport,
  tried: readonly { engine: FoundEngine; result: { problem: EngineProblem } }[],
): string {
  if (gpu.vendor === 'amd') {
    return 'Install vLLM for ROCm, or llama-server for ROCm or Vulkan, in PATH, or name it in a setting.'
  }
  const problems = tried.map(({ result }) => result.problem)
  if (problems.some((each) => each.kind === 'missing libraries' && each.libraries.some(isOfDriver))) {
    return "Install NVIDIA's driver with its libraries for computing (on Ubuntu libnvidia-compute), or start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility."
  }
  const hasVllm = tried.some(({ engine }) => engine.name === 'vllm')
  if (!hasVllm && (gpu.computeCapability ?? vllmCapability) >= vllmCapability) {
    return `Run: npm run admin -- engines install vllm (${vllmSize}).`
  }
  if (problems.some(({ kind }) => kind === 'missing libraries')) {
    return 'Run: npm run admin -- engines install cuda.'
  }
  if (problems.some(({ kind }) => kind === 'old driver')) return 'Update the driver.'
  return 'Run: npm run admin -- engines list.'
}
