import { mkdir } from 'node:fs/promises'
import { nameShare } from '../../../base/gpu-share.ts'
import type { EngineSpec, ProvisionResult } from '../../../ports/model-runtime.ts'
import { createSerialQueue } from '../serial-queue.ts'
import { allocate } from './allocate.ts'
import type { Held } from './allocate.ts'
import { engineFiles } from './engine/engine-record.ts'
import { readJson, writeJson } from './files.ts'
import { allFree } from './gpu-use.ts'
import type { HeldGpu } from './gpu-use.ts'
import type { HostGpus } from './host-gpus.ts'
import type { HostOffer } from './host.ts'
import type { LocalRuntimeSettings } from './settings.ts'
import { listWeightPaths } from './weights/weight-files.ts'

/** The id of the cluster that this machine is */
export const localCluster = 'local'

/** What an engine has reserved on this host. */
export interface Reservation extends Held {
  startedAt: Date
  /** Why it lost the GPUs that it had first, as a sentence; null if it still has them */
  lost: string | null
  /** Paths of the weights that it needs */
  weights: string[]
}

/** The reservations of all engines, in their folders. A reservation ends when its folder is deleted. */
export interface Reservations {
  /**
   * Reserves GPUs or memory, or returns the earlier reservation, with other GPUs for those that are lost.
   * Resolves once the disk has it.
   */
  reserve(spec: EngineSpec): Promise<ProvisionResult>
  find(engineId: string): Promise<Reservation | null>
  /** Paths of the weights that engines need */
  listNeededWeights(): Promise<string[]>
  /** The parts of GPUs that engines have */
  listHeldGpus(): Promise<HeldGpu[]>
}

/** The folders of engines on this host. */
export interface DeploymentFolders {
  /** Throws RangeError if the id is not a UUID. */
  of(engineId: string): string
  /** The ids of all engines with a folder. */
  list(): Promise<string[]>
}

export function createReservations(
  settings: LocalRuntimeSettings,
  host: { readonly offers: readonly HostOffer[] },
  folders: DeploymentFolders,
  gpus: Pick<HostGpus, 'readUse' | 'findLost'>,
): Reservations {
  const runExclusive = createSerialQueue()

  const find = (engineId: string) => readReservation(folders.of(engineId))

  async function list(exceptId: string | null = null): Promise<Reservation[]> {
    const ids = (await folders.list()).filter((id) => id !== exceptId)
    return (await Promise.all(ids.map(find))).filter((each) => each !== null)
  }

  async function reserve(spec: EngineSpec): Promise<ProvisionResult> {
    const existing = await find(spec.engineId)
    const lost = existing === null ? null : await gpus.findLost(existing, 0)
    if (existing !== null && lost === null) return describeInstance(spec.engineId, existing)
    const { offers } = host
    const found = offers.find(({ offer }) => offer.instanceType === spec.instanceType)
    if (found === undefined || !found.offer.formats.includes(spec.variant.format)) {
      const supported = offers
        .filter(({ offer }) => offer.formats.length > 0)
        .map(({ offer: { instanceType, formats } }) => `${formats.join(', ')} on ${instanceType}`)
      const message =
        found?.offer.obstacle ??
        `This host supports ${supported.join('; ')}, not ${spec.variant.format} on ${spec.instanceType}.`
      return { outcome: 'refused', code: 'no_feasible_instance', message }
    }
    const allocation = allocate(
      found,
      spec.memoryBytes,
      await list(spec.engineId),
      found.gpus === null ? allFree : await gpus.readUse(0),
    )
    if ('code' in allocation) {
      const refusal = lost === null ? allocation : { code: 'instance_lost' as const, message: lost }
      return { outcome: 'refused', ...refusal }
    }
    const reservation = {
      startedAt: settings.clock?.() ?? new Date(),
      memoryBytes: spec.memoryBytes,
      gpus: allocation.gpus,
      parts: found.parts,
      lost,
      weights: [spec.variant, ...(spec.loras ?? [])].flatMap((each) => listWeightPaths(each, settings)),
    }
    const folder = folders.of(spec.engineId)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeJson(engineFiles(folder).instance, {
      started_at: reservation.startedAt.toISOString(),
      memory_bytes: reservation.memoryBytes,
      gpus: reservation.gpus,
      parts: reservation.parts,
      lost: reservation.lost,
      weights: reservation.weights,
    })
    return describeInstance(spec.engineId, reservation)
  }

  return {
    // One at a time, so that two engines can't reserve the same GPU or memory.
    reserve: (spec) => runExclusive('reserve', () => reserve(spec)),
    find,
    listNeededWeights: async () => (await list()).flatMap(({ weights }) => weights),
    listHeldGpus: async () => {
      const held = (await folders.list()).map(async (engineId) => {
        const { gpus, parts } = (await find(engineId)) ?? { gpus: null, parts: 1 }
        return (gpus ?? []).map((uuid) => ({ engineId, uuid, parts }))
      })
      return (await Promise.all(held)).flat()
    },
  }
}

async function readReservation(folder: string): Promise<Reservation | null> {
  const record = await readJson(engineFiles(folder).instance)
  const { started_at: startedAt, memory_bytes: memoryBytes, gpus, parts, lost, weights } = record ?? {}
  if (typeof startedAt !== 'string' || typeof memoryBytes !== 'number' || !Array.isArray(weights)) return null
  return {
    startedAt: new Date(startedAt),
    memoryBytes,
    gpus: Array.isArray(gpus) ? gpus.map(String) : null,
    parts: typeof parts === 'number' ? parts : 1,
    lost: typeof lost === 'string' ? lost : null,
    weights: weights.map(String),
  }
}

/** The name of an allocation: the GPUs, `GPU-5c2d8f1a/4` for a share of one, or the host */
export function nameAllocation({ gpus, parts }: Pick<Reservation, 'gpus' | 'parts'>): string {
  if (gpus === null) return 'host'
  const whole = gpus.join(',')
  return parts === 1 ? whole : nameShare({ whole, parts })
}

function describeInstance(engineId: string, reservation: Reservation): ProvisionResult {
  return {
    outcome: 'provisioned',
    instance: {
      // The last part of a UUIDv7 is random, unlike the first, which is the time.
      instanceId: `local-${engineId.slice(-12)}`,
      clusterId: localCluster,
      gpuAllocationId: nameAllocation(reservation),
      region: 'local',
      startedAt: reservation.startedAt,
    },
  }
}
