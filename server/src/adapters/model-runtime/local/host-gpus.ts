import { basename } from 'node:path'
import { formatMemory } from '../../../base/format-bytes.ts'
import type { EngineFailure } from '../../../ports/engine-failures.ts'
import type { EngineSpec } from '../../../ports/model-runtime.ts'
import type { RuntimeLogger } from '../runtime-logger.ts'
import type { Held } from './allocate.ts'
import { findOwner } from './engine/engine-process.ts'
import { createGpuReader } from './gpu-reader.ts'
import type { ReadGpus } from './gpu-reader.ts'
import { allFree, findUse, findUser } from './gpu-use.ts'
import type { HeldGpu, KnownProgram, UseOf } from './gpu-use.ts'
import type { Gpu } from './gpus.ts'
import { getMemoryShare, getUsableBytes, nameOthers, shortenUuid } from './host.ts'

/** A running engine is checked by readings of this age. */
export const runningAgeMs = 30_000

/** The GPUs of this host, and what uses them. */
export interface HostGpus {
  /** What else uses the GPUs, from a reading of this age at most; by default of some seconds */
  readUse(maxAgeMs?: number): Promise<UseOf>
  /** Why GPUs that an engine holds are lost, as a sentence; null if they work */
  findLost(held: Held, maxAgeMs?: number): Promise<string | null>
  /** Why a reserved place is too small for a start now; null if it isn't */
  findStartFailure(spec: EngineSpec, held: Held): Promise<EngineFailure | null>
  /** Why an engine that works must not go on; null if it may */
  findRunFailure(engineId: string, held: Held): Promise<EngineFailure | null>
  /** The part of the memory of each GPU that an engine with this reservation may use */
  findMemoryShare(held: Held): Promise<number>
}

interface GpuSources {
  /** None without GPUs */
  gpus: readonly Gpu[]
  /** The part of the whole memory of each GPU that engines may use together */
  memoryShare: number
  readGpus: ReadGpus
  listHeldGpus: () => Promise<HeldGpu[]>
  /** The folder of an engine */
  folderOf: (engineId: string) => string
  logger: RuntimeLogger
}

export function openHostGpus(sources: GpuSources): HostGpus {
  const { gpus, memoryShare, readGpus, listHeldGpus, folderOf, logger } = sources
  const reader = createGpuReader(readGpus, logger)
  const gpusOf = ({ gpus: uuids }: Held) => gpus.filter(({ uuid }) => uuids?.includes(uuid) === true)

  async function readUse(maxAgeMs?: number): Promise<UseOf> {
    if (gpus.length === 0) return allFree
    const [reading, held] = await Promise.all([reader.read(maxAgeMs), listHeldGpus()])
    if (reading === null) return allFree
    const folders = [...new Set(held.map(({ engineId }) => engineId))].map(folderOf)
    const programs = reading.programs.map(async (program): Promise<KnownProgram> => {
      const folder = await findOwner(program.pid, folders)
      const engineId = folder === null ? null : basename(folder)
      return { ...program, engineId, user: engineId === null ? await findUser(program.pid) : null }
    })
    return findUse(reading, await Promise.all(programs), gpus, held)
  }

  async function findLost(held: Held, maxAgeMs?: number): Promise<string | null> {
    if (held.gpus === null || gpus.length === 0) return null
    const reading = await reader.read(maxAgeMs)
    const lost = held.gpus.filter((uuid) => reading?.usedBytes.has(uuid) === false)
    return lost.length === 0 ? null : describeLost(lost, gpus)
  }

  return {
    readUse,
    findLost,
    async findStartFailure({ instanceType, memoryBytes, gpuCount }, held) {
      if (held.gpus === null) return null
      const useOf = await readUse(0)
      const needed = held.parts === 1 ? memoryBytes / Math.max(1, gpuCount) : null
      const crowded = gpusOf(held).filter((gpu) => {
        const usable = getUsableBytes(gpu, memoryShare, useOf(gpu.uuid).othersBytes)
        return usable < (needed ?? (gpu.memoryBytes * memoryShare) / held.parts)
      })
      if (crowded.length === 0) return null
      const message = `${instanceType} can’t start the engine, because memory is in use by others: ${nameOthers(crowded, useOf)}.`
      return { stage: 'engine_startup', code: 'in_use', message }
    },
    async findRunFailure(engineId, held) {
      if (held.gpus === null || held.parts === 1) return null
      const useOf = await readUse(runningAgeMs)
      const [gpu] = gpusOf(held)
      const used = gpu === undefined ? 0 : (useOf(gpu.uuid).engineBytes.get(engineId) ?? 0)
      if (gpu === undefined || used <= gpu.memoryBytes / held.parts) return null
      const message =
        `The engine uses ${formatMemory(used)} of the GPU, more than its share of ` +
        `${formatMemory(gpu.memoryBytes / held.parts)} (1/${held.parts}).`
      return { stage: 'runtime', code: 'out_of_memory', message }
    },
    async findMemoryShare(held) {
      if (held.parts > 1) return getMemoryShare({ memoryShare, parts: held.parts })
      const useOf = held.gpus === null ? allFree : await readUse(0)
      const shares = gpusOf(held).map(
        (gpu) => getUsableBytes(gpu, memoryShare, useOf(gpu.uuid).othersBytes) / gpu.memoryBytes,
      )
      return getMemoryShare({ memoryShare: Math.min(memoryShare, ...shares), parts: 1 })
    },
  }
}

function describeLost(lost: readonly string[], gpus: readonly Gpu[]): string {
  const names = lost.map((uuid) => {
    const name = gpus.find((gpu) => gpu.uuid === uuid)?.name
    return name === undefined ? shortenUuid(uuid) : `${name} (${shortenUuid(uuid)})`
  })
  const subject = lost.length === 1 ? 'The GPU' : 'The GPUs'
  return `${subject} ${names.join(' and ')} disappeared from this host. The kernel log has the reason, such as an Xid error.`
}
