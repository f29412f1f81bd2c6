import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { formatMemory } from '../../../base/format-bytes.ts'
import { unlessGone } from './files.ts'
import type { GpuProgram, GpuReading } from './gpu-reader.ts'
import type { Gpu } from './gpus.ts'

/** An engine's part of a GPU. */
export interface HeldGpu {
  engineId: string
  uuid: string
  /** 1 for the whole GPU, 4 for a quarter of it */
  parts: number
}

/** What else uses the memory of a GPU. */
export interface GpuUse {
  /** False if the GPU has disappeared from this host */
  isPresent: boolean
  /** Bytes in use altogether; null when unknown */
  usedBytes: number | null
  /** Bytes that programs other than engines use */
  othersBytes: number
  /** Such as `python (pid 4242, user kai) uses 21.3 GiB`; empty if nothing is in use */
  others: string
  /** How busy the GPU was in the last moments, from 0 to 1; null when unknown */
  utilization: number | null
  /** What each engine uses, as far as the driver tells, by id */
  engineBytes: ReadonlyMap<string, number>
}

/** The use of each GPU by UUID. */
export type UseOf = (uuid: string) => GpuUse

/** The use of unknown GPUs, or of none */
export const allFree: UseOf = () => unknownUse

/** A program of a reading, with who started it. */
export interface KnownProgram extends GpuProgram {
  /** The engine that it belongs to; null for a program of others */
  engineId: string | null
  /** null if unknown */
  user: string | null
}

/** Of the programs that are named */
const mostNamed = 3
/** Less is not worth a sentence. */
const leastNamedBytes = 64 * 2 ** 20
const maxNameLength = 40

/**
 * Separates what engines use of each GPU from what others use. Memory that no program is named for belongs to
 * the engines on the GPU, as far as their parts go: a driver may hide processes, and be slow to free memory.
 */
export function findUse(
  reading: GpuReading | null,
  programs: readonly KnownProgram[],
  gpus: readonly Gpu[],
  held: readonly HeldGpu[],
): UseOf {
  const uses = new Map(gpus.map((gpu) => [gpu.uuid, findUseOf(gpu, reading, programs, held)]))
  return (uuid) => uses.get(uuid) ?? unknownUse
}

const unknownUse: GpuUse = {
  isPresent: true,
  usedBytes: null,
  othersBytes: 0,
  others: '',
  utilization: null,
  engineBytes: new Map(),
}

function findUseOf(
  { uuid, memoryBytes }: Gpu,
  reading: GpuReading | null,
  programs: readonly KnownProgram[],
  held: readonly HeldGpu[],
): GpuUse {
  if (reading === null) return unknownUse
  const used = reading.usedBytes.get(uuid)
  if (used === undefined) return { ...unknownUse, isPresent: false }
  const here = programs.filter((program) => program.uuid === uuid)
  const own = here.filter(({ engineId }) => engineId !== null)
  const others = here.filter(({ engineId }) => engineId === null)
  const parts = held.filter((each) => each.uuid === uuid).map((each) => each.parts)
  const promised = parts.includes(1) ? Infinity : sum(parts.map((count) => memoryBytes / count))
  const unnamed = Math.max(0, used - sumBytes(here))
  const unexplained = Math.max(0, unnamed - Math.max(0, promised - sumBytes(own)))
  return {
    isPresent: true,
    usedBytes: used,
    othersBytes: sumBytes(others) + unexplained,
    others: describeOthers(others, unexplained),
    utilization: reading.utilization?.get(uuid) ?? null,
    engineBytes: sumByEngine(own),
  }
}

function sumByEngine(programs: readonly KnownProgram[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { engineId, bytes } of programs) {
    if (engineId !== null && bytes !== null) sums.set(engineId, (sums.get(engineId) ?? 0) + bytes)
  }
  return sums
}

function describeOthers(others: readonly KnownProgram[], unexplained: number): string {
  const measured = others
    .filter(({ bytes }) => bytes !== null && bytes >= leastNamedBytes)
    .toSorted((one, other) => Number(other.bytes) - Number(one.bytes))
  const named = measured.slice(0, mostNamed)
  const rest = sumBytes(measured.slice(mostNamed)) + unexplained
  const hidden = others.filter(({ bytes }) => bytes === null).slice(0, mostNamed)
  const [subject, verb] =
    hidden.length === 0
      ? ['other programs', 'use']
      : [hidden.map(nameProgram).join(' and '), hidden.length === 1 ? 'uses' : 'use']
  return [
    ...named.map((program) => `${nameProgram(program)} uses ${formatMemory(program.bytes ?? 0)}`),
    ...(rest >= leastNamedBytes ? [`${subject} ${verb} ${formatMemory(rest)}`] : []),
  ].join(', ')
}

/** Such as `python (pid 4242, user kai)` */
function nameProgram({ name, pid, user }: KnownProgram): string {
  // The driver writes `[Not Found]` for some.
  const path = name.startsWith('[') ? '' : name.trim().split(' ')[0]!
  const shown = basename(path)
    .replaceAll(/[^\p{L}\p{N}._:+-]/gu, '')
    .slice(0, maxNameLength)
  return `${shown === '' ? 'a program' : shown} (pid ${pid}${user === null ? '' : `, user ${user}`})`
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

function sumBytes(programs: readonly GpuProgram[]): number {
  return sum(programs.map(({ bytes }) => bytes ?? 0))
}

/** The user who started a process, by name or number; null if the process has ended, or is out of sight. */
export async function findUser(pid: number): Promise<string | null> {
  const owner = await unlessGone(stat(`/proc/${pid}`), null)
  if (owner === null) return null
  const lines = (await unlessGone(readFile('/etc/passwd', 'utf8'), '')).split('\n')
  const line = lines.map((each) => each.split(':')).find(([, , uid]) => uid === String(owner.uid))
  return line?.[0] ?? String(owner.uid)
}
