import { totalmem } from 'node:os'
import type { InstanceOffer, InstanceType } from '../../../ports/model-runtime.ts'
import { readKernelFile } from './files.ts'
import { findGpus } from './gpus.ts'
import type { Gpu } from './gpus.ts'
import { defaultStateCacheBytes } from './settings.ts'
import type { LocalRuntimeSettings } from './settings.ts'
import { llamaCpp } from '../engines/llama-cpp.ts'

/** Engines' share of memory. The rest is for the server, database and system, or a margin on a GPU. */
const engineMemoryShare = 0.9
/** `LOCAL_CPU_MAX_BILLIONS`: larger models are slow on the CPU. */
const defaultCpuMaxBillions = 1
/** GPU counts that one engine can split a model over */
const gpuCounts: readonly number[] = [1, 2, 4, 8]

/** An instance type of this host. */
export interface HostOffer {
  offer: InstanceOffer
  /** The GPUs that instances are made of; null if all engines share the memory of the host */
  gpus: readonly Gpu[] | null
  /** True if engines must not use the GPUs that the host has */
  hidesGpus: boolean
}

/** The formats that engines load, and the share of a GPU's memory that they use. */
interface EngineLimits {
  formats: string[]
  memoryShare: number
}

/** Memory of this host or container, in bytes. */
function readHostMemory(): number {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : totalmem()
}

/**
 * The instance types of this host: with NVIDIA GPUs, those of the file, `local-gpu` types for other GPUs, and
 * the CPU for small models. Otherwise the CPU or Apple's GPU, whose memory all engines share.
 */
export async function describeHost(
  settings: Pick<
    LocalRuntimeSettings,
    'memoryBytes' | 'environment' | 'instanceTypes' | 'gpuMemoryShare' | 'stateCacheBytes' | 'cpuMaxBillions'
  >,
  formats: string[],
): Promise<HostOffer[]> {
  const { environment, instanceTypes = [], gpuMemoryShare = engineMemoryShare } = settings
  const usesGpus = environment['NODE_LLAMA_CPP_GPU'] !== 'false'
  const isApple = usesGpus && process.platform === 'darwin' && process.arch === 'arm64'
  const gpus = usesGpus && !isApple ? await findGpus(environment) : []
  const shared: InstanceOffer = {
    instanceType: isApple ? 'local-gpu' : 'local-cpu',
    region: 'local',
    gpuCount: isApple ? 1 : 0,
    gpuModel: isApple ? 'Apple GPU (Metal)' : null,
    vendor: isApple ? 'apple' : null,
    computeCapability: null,
    memoryBytes: Math.floor((settings.memoryBytes ?? readHostMemory()) * engineMemoryShare),
    stateCacheBytes: settings.stateCacheBytes ?? defaultStateCacheBytes,
    formats,
  }
  if (gpus.length === 0) return [{ offer: shared, gpus: null, hidesGpus: false }]
  const { cpuMaxBillions: maxBillions = defaultCpuMaxBillions } = settings
  const onCpu = { ...shared, formats: [...llamaCpp.formats], maxBillions }
  return [
    ...listGpuOffers(gpus, instanceTypes, { formats, memoryShare: gpuMemoryShare }),
    { offer: onCpu, gpus: null, hidesGpus: true },
  ]
}

/** The instance types that these GPUs can make up. */
export function listGpuOffers(
  gpus: readonly Gpu[],
  types: readonly InstanceType[],
  engines: EngineLimits,
): HostOffer[] {
  const listed = types.flatMap((type) => {
    const matching = gpus.filter((gpu) => isOfType(gpu, type))
    if (type.gpuCount > matching.length) return []
    const { offer } = toOffer(type.name, type.gpuCount, matching, engines)
    return {
      offer: { ...offer, computeCapability: type.computeCapability },
      gpus: matching,
      hidesGpus: false,
    }
  })
  const others = gpus.filter((gpu) => !types.some((type) => isOfType(gpu, type)))
  const unlisted = gpuCounts
    .filter((count) => count <= others.length)
    .map((count) => toOffer(count === 1 ? 'local-gpu' : `local-gpu-x${count}`, count, others, engines))
  return [...listed, ...unlisted]
}

/** The label of NVIDIA's GPU feature discovery is the name of the GPU with dashes. */
function isOfType({ name }: Gpu, { vendor, gpuModel, nodeSelector }: InstanceType): boolean {
  const label = nodeSelector['nvidia.com/gpu.product']
  return vendor === 'nvidia' && (name === gpuModel || name.replaceAll(' ', '-') === label)
}

function toOffer(
  instanceType: string,
  gpuCount: number,
  gpus: readonly Gpu[],
  { formats, memoryShare }: EngineLimits,
): HostOffer {
  const capabilities = gpus.map(({ computeCapability }) => computeCapability)
  const offer: InstanceOffer = {
    instanceType,
    region: 'local',
    gpuCount,
    gpuModel: [...new Set(gpus.map(({ name }) => name))].join(', '),
    vendor: 'nvidia',
    computeCapability: capabilities.includes(null) ? null : Math.min(...capabilities.map(Number)),
    memoryBytes: Math.floor(Math.min(...gpus.map(({ memoryBytes }) => memoryBytes)) * gpuCount * memoryShare),
    formats,
  }
  return { offer, gpus, hidesGpus: false }
}

/** The kernel's out-of-memory kills, of this container if it has a counter; null if unknown. */
export async function countOutOfMemoryKills(): Promise<number | null> {
  for (const path of ['/sys/fs/cgroup/memory.events', '/proc/vmstat']) {
    const text = await readKernelFile(path)
    const count = /^oom_kill (\d+)$/m.exec(text)?.[1]
    if (count !== undefined) return Number(count)
  }
  return null
}

/** Identifies the boot of this host or container, by the boot id and the start time of its first process. */
export async function readBootId(): Promise<string> {
  const boot = await readKernelFile('/proc/sys/kernel/random/boot_id')
  const init = await readKernelFile('/proc/1/stat')
  // Field 22 is the start time. The process name before it may contain spaces (proc_pid_stat(5)).
  return `${boot.trim()}:${init.slice(init.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`
}
