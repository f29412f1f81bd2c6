import type { InstanceOffer, InstanceType } from '../../../ports/model-runtime.ts'
import { llamaCpp } from '../engines/llama-cpp.ts'
import { vllm } from '../engines/vllm.ts'
import type { Gpu, ClusterNode } from './cluster.ts'
import type { XinferenceSettings } from './settings.ts'

/** An instance type on one host: a number of identical GPUs, or the whole host if it has none. */
export interface NodeOffer extends InstanceOffer {
  node: ClusterNode
  gpus: Gpu[]
}

/** Capacity reserved for an engine that Xinference may not know of yet. */
export interface Reservation {
  uid: string
  origin: string
  host: string
  gpuCount: number
  memoryBytes: number
}

/** The share of the memory of a host without GPUs that engines may use */
const hostMemoryShare = 0.9
/** A GPU with less free memory is in use, possibly by a process outside Xinference. */
const freeShare = 0.9
const gpuCounts = [1, 2, 4, 8, 16]
/** The formats that workers with GPUs and without run */
const gpuFormats = [...vllm.formats, ...llamaCpp.formats]
const hostFormats = [...llamaCpp.formats]
const unknownRegion = 'xinference'

/** Lists the instance types of a host, regardless of its current load. */
export function listNodeOffers(
  node: ClusterNode,
  { instanceTypes, gpuMemoryShare }: Pick<XinferenceSettings, 'instanceTypes' | 'gpuMemoryShare'>,
): NodeOffer[] {
  if (node.gpus.length === 0) {
    return [
      {
        node,
        gpus: [],
        instanceType: 'xinference-cpu',
        region: unknownRegion,
        gpuCount: 0,
        gpuModel: null,
        vendor: null,
        computeCapability: null,
        formats: hostFormats,
        memoryBytes: Math.floor(node.memoryBytes * hostMemoryShare),
      },
    ]
  }
  const kinds = Map.groupBy(node.gpus, ({ name, totalBytes }) => `${name} ${toGibibytes(totalBytes)}`)
  return [...kinds.values()].flatMap((gpus) =>
    gpuCounts
      .filter((count) => count <= gpus.length)
      .map((count) => offerGpus(node, gpus, count, instanceTypes, gpuMemoryShare)),
  )
}

function offerGpus(
  node: ClusterNode,
  gpus: Gpu[],
  count: number,
  types: readonly InstanceType[],
  gpuMemoryShare: number,
): NodeOffer {
  const [{ name, totalBytes } = { name: null, totalBytes: 0 }] = gpus
  const matching = types.filter((type) => isSameGpu(type, name, totalBytes))
  const type = matching.find(({ gpuCount }) => gpuCount === count)
  return {
    node,
    gpus,
    instanceType: type?.name ?? `xinference-${count}x${toGibibytes(totalBytes)}g`,
    region: type?.region ?? unknownRegion,
    gpuCount: count,
    gpuModel: name,
    vendor: matching[0]?.vendor ?? null,
    computeCapability: matching[0]?.computeCapability ?? null,
    memoryBytes: Math.floor(totalBytes * count * gpuMemoryShare),
    formats: gpuFormats,
  }
}

/** Matches `NVIDIA A100-SXM4-80GB` with `NVIDIA A100 80GB`: all words occur, memory within 15 %. */
function isSameGpu(type: InstanceType, name: string | null, totalBytes: number): boolean {
  if (name === null) return false
  const words = toWords(name)
  const isNear = Math.abs(type.gpuMemoryBytes - totalBytes) < totalBytes * 0.15
  return (
    isNear &&
    toWords(type.gpuModel).every(
      (word) => words.includes(word) || /^\d+gb$/.test(word) || word === type.vendor,
    )
  )
}

function toWords(name: string): string[] {
  return name.toLowerCase().split(/[^a-z0-9]+/)
}

function toGibibytes(bytes: number): number {
  return Math.max(1, Math.round(bytes / 2 ** 30))
}

/** Merges the offers of all hosts by instance type. Each gets the memory of its smallest host. */
export function mergeNodeOffers(offers: readonly NodeOffer[]): InstanceOffer[] {
  const merged = new Map<string, InstanceOffer>()
  for (const { node: _node, gpus: _gpus, ...offer } of offers) {
    const known = merged.get(offer.instanceType)
    const memoryBytes = Math.min(offer.memoryBytes, known?.memoryBytes ?? Infinity)
    merged.set(offer.instanceType, { ...offer, memoryBytes })
  }
  return [...merged.values()]
}

/** Best fit: the smallest sufficient host, so that large ones stay free; null if none fits. */
export function findPlacement(
  offers: readonly NodeOffer[],
  requested: { modelUid: string; instanceType: string; memoryBytes: number },
  reservations: readonly Reservation[],
): NodeOffer | null {
  const others = reservations.filter(({ uid }) => uid !== requested.modelUid)
  const fitting = offers
    .filter(({ instanceType }) => instanceType === requested.instanceType)
    .map((offer) => ({ offer, remaining: countRemaining(offer, requested.memoryBytes, others) }))
    .filter(({ remaining }) => remaining >= 0)
  return fitting.toSorted((one, other) => one.remaining - other.remaining)[0]?.offer ?? null
}

/** Remaining GPUs of an offer, or bytes of a host without GPUs; negative if it has too little. */
function countRemaining(offer: NodeOffer, memoryBytes: number, others: readonly Reservation[]): number {
  const { node, gpus, gpuCount } = offer
  // A reservation counts until the cluster lists the model and includes it in its own figures.
  const reservations = others.filter(
    ({ uid, origin, host }) =>
      origin === node.supervisor.origin && host === node.host && !node.models.has(uid),
  )
  if (gpuCount === 0) {
    return (
      node.availableMemoryBytes -
      memoryBytes -
      sum(reservations.map((reservation) => reservation.memoryBytes))
    )
  }
  const unlisted = gpus.filter(({ isUsed }) => !isUsed)
  const empty = unlisted.filter(({ freeBytes, totalBytes }) => freeBytes >= totalBytes * freeShare)
  // A loading model has a reservation and may already use memory. Taking the minimum counts it only once.
  const reserved = sum(reservations.map((reservation) => reservation.gpuCount))
  return Math.min(unlisted.length - reserved, empty.length) - gpuCount
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
