import type { InstanceOffer, InstanceType } from '../../../ports/model-runtime.ts'
import type { Gpu, Node } from './cluster.ts'

/** An offer of one host: some of its GPUs of a kind, or the host itself where it has none. */
export interface NodeOffer extends InstanceOffer {
  node: Node
  gpus: Gpu[]
}

/** What a deployment was given that Xinference may not know of yet. */
export interface Reservation {
  uid: string
  origin: string
  host: string
  gpuCount: number
  memoryBytes: number
}

/** The part of a memory that an engine may take. */
const usableShare = 0.9
/** A GPU with less of its memory free is taken by somebody, be it a process that Xinference knows nothing of. */
const freeShare = 0.9
const gpuCounts = [1, 2, 4, 8, 16]
const gpuFormats = ['pytorch', 'awq', 'gptq', 'fp8', 'ggufv2']
const hostFormats = ['ggufv2']
const unknownRegion = 'xinference'

/** The instance types of a host, if nothing ran on it. */
export function listNodeOffers(node: Node, types: readonly InstanceType[]): NodeOffer[] {
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
        memoryBytes: Math.floor(node.memoryBytes * usableShare),
      },
    ]
  }
  const kinds = Map.groupBy(node.gpus, ({ name, totalBytes }) => `${name} ${toGibibytes(totalBytes)}`)
  return [...kinds.values()].flatMap((gpus) =>
    gpuCounts.filter((count) => count <= gpus.length).map((count) => offerGpus(node, gpus, count, types)),
  )
}

function offerGpus(node: Node, gpus: Gpu[], count: number, types: readonly InstanceType[]): NodeOffer {
  const [{ name, totalBytes } = { name: null, totalBytes: 0 }] = gpus
  const alike = types.filter((type) => isSameGpu(type, name, totalBytes))
  const type = alike.find(({ gpuCount }) => gpuCount === count)
  return {
    node,
    gpus,
    instanceType: type?.name ?? `xinference-${count}x${toGibibytes(totalBytes)}g`,
    region: type?.region ?? unknownRegion,
    gpuCount: count,
    gpuModel: name,
    vendor: alike[0]?.vendor ?? null,
    computeCapability: alike[0]?.computeCapability ?? null,
    memoryBytes: Math.floor(totalBytes * count * usableShare),
    formats: gpuFormats,
  }
}

/** `NVIDIA A100-SXM4-80GB` is the file's `NVIDIA A100 80GB`: every word of it is there, and its memory is about the same. */
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

/** One offer for each instance type; hosts that differ a little under the same name count as the smallest of them. */
export function mergeNodeOffers(offers: readonly NodeOffer[]): InstanceOffer[] {
  const merged = new Map<string, InstanceOffer>()
  for (const { node: _node, gpus: _gpus, ...offer } of offers) {
    const known = merged.get(offer.instanceType)
    const memoryBytes = Math.min(offer.memoryBytes, known?.memoryBytes ?? Infinity)
    merged.set(offer.instanceType, { ...offer, memoryBytes })
  }
  return [...merged.values()]
}

/** The offer's host with the least room that is enough, so that large ones stay free for large models; null when there is none. */
export function findRoom(
  offers: readonly NodeOffer[],
  wanted: { modelUid: string; instanceType: string; memoryBytes: number },
  reservations: readonly Reservation[],
): NodeOffer | null {
  const others = reservations.filter(({ uid }) => uid !== wanted.modelUid)
  const fitting = offers
    .filter(({ instanceType }) => instanceType === wanted.instanceType)
    .map((offer) => ({ offer, left: countLeft(offer, wanted.memoryBytes, others) }))
    .filter(({ left }) => left >= 0)
  return fitting.toSorted((one, other) => one.left - other.left)[0]?.offer ?? null
}

/** GPUs, or bytes of a host without, that would be left over; negative when it has no room. */
function countLeft(offer: NodeOffer, memoryBytes: number, others: readonly Reservation[]): number {
  const { node, gpus, gpuCount } = offer
  // What is promised to a model counts until the cluster lists it, and then for what it really takes.
  const here = others.filter(
    ({ uid, origin, host }) =>
      origin === node.supervisor.origin && host === node.host && !node.models.has(uid),
  )
  if (gpuCount === 0) {
    return node.availableMemoryBytes - memoryBytes - sum(here.map((reservation) => reservation.memoryBytes))
  }
  const unlisted = gpus.filter(({ isUsed }) => !isUsed)
  const empty = unlisted.filter(({ freeBytes, totalBytes }) => freeBytes >= totalBytes * freeShare)
  // A model that is loading is among the reserved, and may or may not show in the memory yet: it counts once.
  const reserved = sum(here.map((reservation) => reservation.gpuCount))
  return Math.min(unlisted.length - reserved, empty.length) - gpuCount
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
