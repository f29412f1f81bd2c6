import { formatMemory } from '../../../base/format-bytes.ts'
import type { FailureCode } from '../../../ports/engine-failures.ts'
import type { InstanceOffer } from '../../../ports/model-runtime.ts'
import type { GpuUse, UseOf } from './gpu-use.ts'
import type { Gpu } from './gpus.ts'
import { getUsableBytes, nameOthers } from './host.ts'
import type { HostOffer } from './host.ts'

/** What an engine holds of this host. */
export interface Held {
  memoryBytes: number
  /** UUIDs of its GPUs; null if it shares the memory of the host */
  gpus: readonly string[] | null
  /** Its part of each GPU: 1 for the whole GPU, 4 for a quarter */
  parts: number
}

type Assignment = { gpus: string[] | null } | { code: FailureCode; message: string }

/** Finds hardware for an engine beside what others hold. */
export function allocate(
  host: HostOffer,
  memoryBytes: number,
  others: readonly Held[],
  useOf: UseOf,
): Assignment {
  const { offer, gpus } = host
  if (gpus === null) return allocateMemory(offer, memoryBytes, others)
  const cards = gpus.map((gpu) => describeCard(gpu, host, others, useOf(gpu.uuid)))
  const present = cards.filter(({ isPresent }) => isPresent)
  const assigned =
    host.parts === 1 ? chooseWhole(present, offer.gpuCount, memoryBytes) : chooseShare(present, offer)
  return assigned === null ? refuse(host, present, useOf) : { gpus: assigned }
}

/** A GPU, with the memory that engines may use of it. */
interface Card {
  gpu: Gpu
  isPresent: boolean
  /** What is promised to engines */
  heldBytes: number
  /** What engines may use beside others, including what is promised */
  usableBytes: number
  /** The same without others */
  totalBytes: number
}

function describeCard(
  gpu: Gpu,
  { memoryShare }: HostOffer,
  holdings: readonly Held[],
  { isPresent, othersBytes }: GpuUse,
): Card {
  const totalBytes = gpu.memoryBytes * memoryShare
  const held = holdings.filter(({ gpus }) => gpus?.includes(gpu.uuid) === true)
  return {
    gpu,
    isPresent,
    heldBytes: held.reduce((sum, { parts }) => sum + Math.floor(totalBytes / parts), 0),
    usableBytes: getUsableBytes(gpu, memoryShare, othersBytes),
    totalBytes,
  }
}

const uuidOf = ({ gpu }: Card): string => gpu.uuid

/** Whole GPUs must be empty, because engines take a part of all of the memory. */
function chooseWhole(cards: readonly Card[], gpuCount: number, memoryBytes: number): string[] | null {
  const roomy = cards
    .filter(({ heldBytes, usableBytes }) => heldBytes === 0 && usableBytes * gpuCount >= memoryBytes)
    .toSorted((one, other) => other.usableBytes / other.totalBytes - one.usableBytes / one.totalBytes)
  return roomy.length < gpuCount ? null : roomy.slice(0, gpuCount).map(uuidOf)
}

/** The GPU with the least room, so that others stay whole. */
function chooseShare(cards: readonly Card[], { memoryBytes }: InstanceOffer): string[] | null {
  const [fullest] = cards
    .filter(({ heldBytes, usableBytes }) => heldBytes + memoryBytes <= usableBytes)
    .toSorted((one, other) => other.heldBytes - one.heldBytes)
  return fullest === undefined ? null : [uuidOf(fullest)]
}

function refuse(host: HostOffer, present: readonly Card[], useOf: UseOf): Assignment {
  const { instanceType, gpuCount, memoryBytes } = host.offer
  const isFree = ({ heldBytes, totalBytes }: Card) =>
    host.parts === 1 ? heldBytes === 0 : heldBytes + memoryBytes <= totalBytes
  const free = present.filter(isFree)
  const needed = host.parts > 1 ? 'a share of a GPU' : gpuCount === 1 ? 'a GPU' : `${gpuCount} GPUs`
  const cards = free.map(({ gpu }) => gpu)
  const programs = nameOthers(cards, useOf)
  if (free.length >= gpuCount && programs !== '') {
    const message = `${instanceType} needs ${needed}, but memory is in use by others: ${programs}.`
    return { code: 'in_use', message }
  }
  const message =
    `${instanceType} needs ${needed}, but ${free.length} of the ${present.length} on this host ` +
    `${host.parts > 1 ? 'have room' : 'are free'}. ` +
    'Terminate a deployment, or deploy again when another one has ended.'
  return { code: 'no_capacity', message }
}

function allocateMemory(
  { memoryBytes: total }: InstanceOffer,
  needed: number,
  others: readonly Held[],
): Assignment {
  const sharing = others.filter(({ gpus }) => gpus === null)
  const reserved = sharing.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)
  if (reserved + needed <= total) return { gpus: null }
  const message =
    `The engine needs ${formatMemory(needed)} of memory, but other deployments (${sharing.length}) use ` +
    `${formatMemory(reserved)} of the ${formatMemory(total)} that this host has for engines. ` +
    'Terminate a deployment or choose a smaller model.'
  return { code: 'no_capacity', message }
}
