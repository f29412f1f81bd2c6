import { totalmem } from 'node:os'
import { nameShare } from '../../../base/gpu-share.ts'
import type { InstanceOffer, InstanceType } from '../../../ports/model-runtime.ts'
import { readKernelFile } from './files.ts'
import type { UseOf } from './gpu-use.ts'
import type { Gpu } from './gpus.ts'
import type { DeviceFormats } from './inventory/inventory.ts'
import { defaultStateCacheBytes } from './settings.ts'
import type { LocalRuntimeSettings } from './settings.ts'
import { llamaCpp } from '../engines/llama-cpp.ts'

/** Engines' share of memory. The rest is for the server, database and system, or a margin on a GPU. */
export const engineMemoryShare = 0.9
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
  /** Into how many shares each GPU is divided; 1 for whole GPUs */
  parts: number
  /** The part of a GPU's memory that its engines may use together */
  memoryShare: number
}

/** A GPU, with what engines can do on it. */
export interface HostDevice extends DeviceFormats {
  gpu: Gpu
}

/** Memory of this host or container, in bytes. */
function readHostMemory(): number {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : totalmem()
}

/**
 * The instance types of this host: with GPUs, those of the file, `local-gpu` types for other GPUs, and
 * the CPU for small models. Otherwise the CPU or Apple's GPU, whose memory all engines share. `formats` are
 * those of all engines, `devices` the GPUs with what engines can do on them.
 */
export function describeHost(
  settings: Pick<
    LocalRuntimeSettings,
    | 'memoryBytes'
    | 'environment'
    | 'instanceTypes'
    | 'gpuMemoryShare'
    | 'gpuShares'
    | 'stateCacheBytes'
    | 'cpuMaxBillions'
  >,
  formats: string[],
  devices: readonly HostDevice[],
): HostOffer[] {
  const {
    environment,
    instanceTypes = [],
    gpuMemoryShare: memoryShare = engineMemoryShare,
    gpuShares: parts = 1,
  } = settings
  const usesGpus = environment['NODE_LLAMA_CPP_GPU'] !== 'false'
  const isApple = usesGpus && process.platform === 'darwin' && process.arch === 'arm64'
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
  const onHost = { gpus: null, parts: 1, memoryShare }
  if (devices.length === 0) return [{ ...onHost, offer: shared, hidesGpus: false }]
  const { cpuMaxBillions: maxBillions = defaultCpuMaxBillions } = settings
  const onCpu = { ...shared, formats: [...llamaCpp.formats], maxBillions }
  const whole = listGpuOffers(devices, instanceTypes, memoryShare)
  return [
    ...whole.flatMap((host) => (parts > 1 && host.offer.gpuCount === 1 ? [divide(host, parts), host] : host)),
    { ...onHost, offer: onCpu, hidesGpus: true },
  ]
}

/** The shares of one GPU: all of them together use no more than an engine with the whole GPU. */
function divide(whole: HostOffer, parts: number): HostOffer {
  const { offer } = whole
  const instanceType = nameShare({ whole: offer.instanceType, parts })
  const memoryBytes = Math.floor(offer.memoryBytes / parts)
  return { ...whole, offer: { ...offer, instanceType, memoryBytes, shares: parts }, parts }
}

/** The part of the whole memory of each GPU that an engine may use; to four decimals, never rounded up */
export function getMemoryShare({ memoryShare, parts }: Pick<HostOffer, 'memoryShare' | 'parts'>): number {
  // A tiny amount makes up for the error of floating-point numbers.
  return Math.floor((memoryShare / parts) * 10_000 + 1e-6) / 10_000
}

/** The memory that an engine can use of a GPU beside others, which may take half of the margin for free. */
export function getUsableBytes({ memoryBytes }: Gpu, memoryShare: number, othersBytes: number): number {
  const withOthers = memoryBytes * ((1 + memoryShare) / 2) - othersBytes
  return Math.max(0, Math.min(memoryBytes * memoryShare, withOthers))
}

/** The offer with the memory that others leave; null if its GPUs have disappeared. */
export function limitOffer(
  { offer, gpus, parts, memoryShare }: HostOffer,
  useOf: UseOf,
): InstanceOffer | null {
  if (gpus === null) return offer
  const usable = gpus
    .filter(({ uuid }) => useOf(uuid).isPresent)
    .map((gpu) => getUsableBytes(gpu, memoryShare, useOf(gpu.uuid).othersBytes))
    .toSorted((one, other) => other - one)
  const last = usable[offer.gpuCount - 1]
  if (last === undefined) return null
  const left = Math.floor(last) * offer.gpuCount
  if (left >= offer.memoryBytes) return offer
  // A share is all or nothing.
  const memoryBytes = parts > 1 ? 0 : left
  return {
    ...offer,
    memoryBytes,
    inUse: { memoryBytes: offer.memoryBytes, programs: nameOthers(gpus, useOf) },
  }
}

/** The programs of others, such as `python (pid 4242, user kai) uses 21.3 GiB of GPU-5c2d8f1a` */
export function nameOthers(gpus: readonly Gpu[], useOf: UseOf): string {
  return gpus
    .filter(({ uuid }) => useOf(uuid).others !== '')
    .map(({ uuid }) =>
      gpus.length === 1 ? useOf(uuid).others : `${useOf(uuid).others} of ${shortenUuid(uuid)}`,
    )
    .join('; ')
}

/** As much of a UUID as people and nvidia-smi need to tell GPUs apart */
export function shortenUuid(uuid: string): string {
  return uuid.slice(0, 12)
}

/** The instance types that these GPUs can make up. Engines use `memoryShare` of a GPU's memory. */
export function listGpuOffers(
  devices: readonly HostDevice[],
  types: readonly InstanceType[],
  memoryShare: number,
): HostOffer[] {
  const listed = types.flatMap((type) => {
    const matching = devices.filter(({ gpu }) => isOfType(gpu, type))
    if (type.gpuCount > matching.length) return []
    const host = toOffer(type.name, type.gpuCount, matching, memoryShare)
    return { ...host, offer: { ...host.offer, computeCapability: type.computeCapability } }
  })
  const others = devices.filter(({ gpu }) => !types.some((type) => isOfType(gpu, type)))
  const unlisted = gpuCounts
    .filter((count) => count <= others.length)
    .map((count) => toOffer(count === 1 ? 'local-gpu' : `local-gpu-x${count}`, count, others, memoryShare))
  return [...listed, ...unlisted]
}

/** The label of NVIDIA's GPU feature discovery is the name of the GPU with dashes. */
function isOfType(gpu: Gpu, { vendor, gpuModel, nodeSelector, resource }: InstanceType): boolean {
  const { name } = gpu
  const label = nodeSelector['nvidia.com/gpu.product']
  // Another resource is no whole GPU.
  return (
    vendor === gpu.vendor &&
    resource === undefined &&
    (name === gpuModel || name.replaceAll(' ', '-') === label)
  )
}

/** An engine can run on each of the GPUs, so what one of them can't load is left out. */
function toOffer(
  instanceType: string,
  gpuCount: number,
  devices: readonly HostDevice[],
  memoryShare: number,
): HostOffer {
  const gpus = devices.map(({ gpu }) => gpu)
  const capabilities = gpus.map(({ computeCapability }) => computeCapability)
  const obstacle = devices.find((device) => device.obstacle !== null)?.obstacle
  const offer: InstanceOffer = {
    instanceType,
    region: 'local',
    gpuCount,
    gpuModel: [...new Set(gpus.map(({ name }) => name))].join(', '),
    vendor: gpus[0]?.vendor ?? null,
    computeCapability: capabilities.includes(null) ? null : Math.min(...capabilities.map(Number)),
    memoryBytes: Math.floor(Math.min(...gpus.map(({ memoryBytes }) => memoryBytes)) * gpuCount * memoryShare),
    formats: (devices[0]?.formats ?? []).filter((format) =>
      devices.every(({ formats }) => formats.includes(format)),
    ),
    ...(obstacle === undefined || obstacle === null ? {} : { obstacle }),
  }
  return { offer, gpus, hidesGpus: false, parts: 1, memoryShare }
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
