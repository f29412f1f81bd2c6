import type { RuntimeLogger } from '../runtime-logger.ts'

/** A program that uses the memory of a GPU. */
export interface GpuProgram {
  /** Of the GPU */
  uuid: string
  pid: number
  name: string
  /** null if the driver doesn't tell */
  bytes: number | null
}

/** What the GPUs of this host are used for at a moment. */
export interface GpuReading {
  /** Bytes in use of each GPU that works, by UUID */
  usedBytes: ReadonlyMap<string, number>
  /** How busy each GPU was in the last moments, from 0 to 1, by UUID, where the driver tells it */
  utilization?: ReadonlyMap<string, number> | undefined
  programs: readonly GpuProgram[]
}

/** Reads the GPUs now. Resolves to null if the driver's program hangs or prints nonsense. */
export type ReadGpus = () => Promise<GpuReading | null>

/** Readings that many callers share. */
export interface GpuReader {
  /** Resolves within seconds to a reading of this age at most, or to the last; null before the first. */
  read(maxAgeMs?: number): Promise<GpuReading | null>
}

/** Plans and lists read the GPUs again after so long. */
const usualAgeMs = 3_000
/** Older readings say nothing about now. */
const usableAgeMs = 60_000
/** A caller waits so long for a reading; a driver that hangs takes longer. */
const patienceMs = 4_000

export function createGpuReader(readGpus: ReadGpus, logger: Pick<RuntimeLogger, 'warn'>): GpuReader {
  let last: { reading: GpuReading; at: number } | null = null
  let current: Promise<void> | null = null
  /** Of the last attempt, if it failed */
  let failedAt: number | null = null

  async function refresh(): Promise<void> {
    const at = performance.now()
    const reading = await readGpus()
    if (reading !== null) last = { reading, at }
    else if (failedAt === null) logger.warn({}, 'the GPUs could not be read: memory in use is unknown')
    failedAt = reading === null ? performance.now() : null
  }

  async function waitForReading(reading: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    // Nobody waits again for a driver that hangs.
    const timer = setTimeout(resolve, failedAt === null ? patienceMs : 0)
    await Promise.race([reading, promise]).finally(() => clearTimeout(timer))
  }

  return {
    async read(maxAgeMs = usualAgeMs) {
      const now = performance.now()
      if (last !== null && now - last.at <= maxAgeMs) return last.reading
      if (failedAt === null || now - failedAt >= usualAgeMs) {
        current ??= refresh().finally(() => (current = null))
        await waitForReading(current)
      }
      return last !== null && performance.now() - last.at < usableAgeMs ? last.reading : null
    },
  }
}
