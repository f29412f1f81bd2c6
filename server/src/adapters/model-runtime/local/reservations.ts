import { mkdir } from 'node:fs/promises'
import { formatMemory } from '../../../base/format-bytes.ts'
import type { FailureCode } from '../../../ports/engine-failures.ts'
import type { EngineSpec, InstanceOffer, ProvisionResult } from '../../../ports/model-runtime.ts'
import { createSerialQueue } from '../serial-queue.ts'
import { engineFiles } from './engine/engine-record.ts'
import { readJson, writeJson } from './files.ts'
import type { Gpu } from './gpus.ts'
import type { HostOffer } from './host.ts'
import type { LocalRuntimeSettings } from './settings.ts'
import { listWeightPaths } from './weights/weight-files.ts'

/** What an engine has reserved on this host. */
export interface Reservation {
  startedAt: Date
  memoryBytes: number
  /** UUIDs of its GPUs; null if it shares the memory of the host */
  gpus: string[] | null
  /** Paths of the weights that it needs */
  weights: string[]
}

/** The reservations of all engines, in their folders. A reservation ends when its folder is deleted. */
export interface Reservations {
  /** Reserves GPUs or memory, or returns the earlier reservation. Resolves once the disk has it. */
  reserve(spec: EngineSpec): Promise<ProvisionResult>
  find(engineId: string): Promise<Reservation | null>
  /** Paths of the weights that engines need */
  listNeededWeights(): Promise<string[]>
}

/** The folders of engines on this host. */
export interface DeploymentFolders {
  /** Throws RangeError if the id is not a UUID. */
  of(engineId: string): string
  /** The ids of all engines with a folder. */
  list(): Promise<string[]>
}

type Assignment = { gpus: string[] | null } | { code: FailureCode; message: string }

export function createReservations(
  settings: LocalRuntimeSettings,
  offers: readonly HostOffer[],
  folders: DeploymentFolders,
): Reservations {
  const runExclusive = createSerialQueue()

  const find = (engineId: string) => readReservation(folders.of(engineId))

  async function list(): Promise<Reservation[]> {
    return (await Promise.all((await folders.list()).map(find))).filter((each) => each !== null)
  }

  async function reserve(spec: EngineSpec): Promise<ProvisionResult> {
    const existing = await find(spec.engineId)
    if (existing !== null) return describeInstance(spec.engineId, existing)
    const found = offers.find(({ offer }) => offer.instanceType === spec.instanceType)
    if (found === undefined || !found.offer.formats.includes(spec.variant.format)) {
      const supported = offers.map(
        ({ offer: { instanceType, formats } }) => `${formats.join(', ')} on ${instanceType}`,
      )
      const message = `This host supports ${supported.join('; ')}, not ${spec.variant.format} on ${spec.instanceType}.`
      return { outcome: 'refused', code: 'no_feasible_instance', message }
    }
    const allocation = allocate(found, spec.memoryBytes, await list())
    if ('code' in allocation) return { outcome: 'refused', ...allocation }
    const reservation = {
      startedAt: settings.clock?.() ?? new Date(),
      memoryBytes: spec.memoryBytes,
      gpus: allocation.gpus,
      weights: [spec.variant, ...(spec.loras ?? [])].flatMap((each) => listWeightPaths(each, settings)),
    }
    const folder = folders.of(spec.engineId)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeJson(engineFiles(folder).instance, {
      started_at: reservation.startedAt.toISOString(),
      memory_bytes: reservation.memoryBytes,
      gpus: reservation.gpus,
      weights: reservation.weights,
    })
    return describeInstance(spec.engineId, reservation)
  }

  return {
    // One at a time, so that two engines can't reserve the same GPU or memory.
    reserve: (spec) => runExclusive('reserve', () => reserve(spec)),
    find,
    listNeededWeights: async () => (await list()).flatMap(({ weights }) => weights),
  }
}

function allocate(
  { offer, gpus }: HostOffer,
  memoryBytes: number,
  others: readonly Reservation[],
): Assignment {
  return gpus === null ? allocateMemory(offer, memoryBytes, others) : allocateGpus(offer, gpus, others)
}

/** Each GPU serves one engine. */
function allocateGpus(
  { instanceType, gpuCount }: InstanceOffer,
  gpus: readonly Gpu[],
  others: readonly Reservation[],
): Assignment {
  const taken = others.flatMap((other) => other.gpus ?? [])
  const free = gpus.filter(({ uuid }) => !taken.includes(uuid))
  if (free.length >= gpuCount) return { gpus: free.slice(0, gpuCount).map(({ uuid }) => uuid) }
  const needed = gpuCount === 1 ? 'a GPU' : `${gpuCount} GPUs`
  const message =
    `${instanceType} needs ${needed}, but ${free.length} of the ${gpus.length} on this host are free. ` +
    'Terminate a deployment, or deploy again when another one has ended.'
  return { code: 'no_capacity', message }
}

function allocateMemory(
  { memoryBytes: total }: InstanceOffer,
  needed: number,
  others: readonly Reservation[],
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

async function readReservation(folder: string): Promise<Reservation | null> {
  const record = await readJson(engineFiles(folder).instance)
  const { started_at: startedAt, memory_bytes: memoryBytes, gpus, weights } = record ?? {}
  if (typeof startedAt !== 'string' || typeof memoryBytes !== 'number' || !Array.isArray(weights)) return null
  return {
    startedAt: new Date(startedAt),
    memoryBytes,
    gpus: Array.isArray(gpus) ? gpus.map(String) : null,
    weights: weights.map(String),
  }
}

function describeInstance(engineId: string, { gpus, startedAt }: Reservation): ProvisionResult {
  return {
    outcome: 'provisioned',
    instance: {
      // The last part of a UUIDv7 is random, unlike the first, which is the time.
      instanceId: `local-${engineId.slice(-12)}`,
      clusterId: 'local',
      gpuAllocationId: gpus?.join(',') ?? 'host',
      region: 'local',
      startedAt,
    },
  }
}
