import { mkdir, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { formatFileSize } from '../../../../base/format-bytes.ts'
import type { CachedWeights } from '../../../../ports/model-runtime.ts'
import { createSerialQueue } from '../../serial-queue.ts'
import { DownloadError } from './download-errors.ts'
import { hasErrorCode, readJson } from '../files.ts'
import type { LocalRuntimeSettings } from '../settings.ts'

/** The size of the weight cache and its limit, in bytes. */
export interface CacheSize {
  bytes: number
  limitBytes: number
}

/** The disk space of the weight cache. */
export interface WeightCache {
  /**
   * Makes room for announced files by deleting the least recently used weights that no engine needs. If they
   * can't fit, withdraws the announcements and throws a DownloadError.
   */
  makeRoom(name: string, paths: readonly string[]): Promise<void>
  measure(): Promise<CacheSize>
  /** All weights, or those at these paths or in these folders, the least recently used first. */
  list(paths?: readonly string[]): Promise<CachedWeights[]>
  /** Deletes the weights that no deployment needs, and resolves to them. */
  prune(): Promise<CachedWeights[]>
}

/** The files of one download: complete, partial or about to be deleted. */
interface Entry {
  path: string
  /** Bytes on the disk */
  bytes: number
  /** The announced size of an unfinished download; null when unknown or complete */
  announced: number | null
  /** The modification time, which each use sets */
  usedAt: number
}

/** Disk space that downloads leave free, because the database may be on the same disk */
const reservedBytes = 256 * 2 ** 20
/** Share of the disk that downloads leave free without a configured limit */
const reservedShare = 0.1
const temporarySuffix = /\.(partial|partial\.json|evicted)$/

/** `listNeeded` returns the paths that engines need. List an engine before it looks for its files. */
export function createWeightCache(
  { dataDirectory, maxWeightBytes = null, logger }: LocalRuntimeSettings,
  listNeeded: () => Promise<readonly string[]>,
): WeightCache {
  const root = join(dataDirectory, 'weights')
  const runExclusive = createSerialQueue()

  async function readDisk(): Promise<{ free: number; reserve: number }> {
    await mkdir(root, { recursive: true, mode: 0o700 })
    const { bavail, blocks, bsize } = await statfs(root)
    const share = maxWeightBytes === null ? blocks * bsize * reservedShare : 0
    return { free: bavail * bsize, reserve: Math.max(reservedBytes, Math.floor(share)) }
  }

  async function makeRoom(name: string, paths: readonly string[]): Promise<void> {
    const needed = await listNeeded()
    const entries = await listEntries(root)
    const { free, reserve } = await readDisk()
    const isNeeded = (path: string) => paths.includes(path) || includesPath(needed, path)
    const [used, unused] = partition(entries, ({ path }) => isNeeded(path))
    const missing = sum(used.map(missingBytes))
    const held = sum(used.map(({ bytes }) => bytes)) + missing
    const evictable = sum(unused.map(({ bytes }) => bytes))
    const excess = Math.max(
      maxWeightBytes === null ? 0 : held + evictable - maxWeightBytes,
      missing + reserve - free,
    )
    if (excess > evictable) {
      await withdraw(used.filter(({ path }) => paths.includes(path)))
      const wanted = sum(used.filter(({ path }) => paths.includes(path)).map(missingBytes))
      const amount = wanted === 0 ? 'more space' : `another ${formatFileSize(wanted)}`
      if (maxWeightBytes !== null && held > maxWeightBytes) {
        const available = Math.max(0, maxWeightBytes - held + wanted)
        throw new DownloadError(
          'disk_full',
          `${name} needs ${amount}, but the weight cache has only ${formatFileSize(available)} free: other deployments ` +
            `need the rest of the ${formatFileSize(maxWeightBytes)} that WEIGHTS_LIMIT allows. Terminate a deployment, ` +
            'choose a smaller model or raise the limit.',
        )
      }
      const available = Math.max(0, free + evictable - missing + wanted)
      throw new DownloadError(
        'disk_full',
        `${name} needs ${amount} plus a reserve of ${formatFileSize(reserve)}, but the disk of DATA_DIR has only ` +
          `${formatFileSize(available)} free. Free up disk space and deploy again.`,
      )
    }
    let freed = 0
    for (const entry of unused.toSorted((one, other) => one.usedAt - other.usedAt)) {
      if (freed >= excess) break
      if (await evict(entry)) freed += entry.bytes
    }
  }

  /** Deletes an entry. Renames first: engines listed later miss it; for earlier ones this restores it. */
  async function evict({ path, bytes }: Entry): Promise<boolean> {
    const discarded = `${path}.evicted`
    const isComplete = await rename(path, discarded).then(
      () => true,
      (error: unknown) => {
        if (hasErrorCode(error, 'ENOENT')) return false
        throw error
      },
    )
    const needed = await listNeeded()
    if (includesPath(needed, path)) {
      if (isComplete) await rename(discarded, path)
      return false
    }
    for (const file of [discarded, `${path}.partial`, `${path}.partial.json`]) await rm(file, { force: true })
    logger.info({ weights: path.slice(root.length + 1), bytes }, 'evicted model weights from the cache')
    return true
  }

  async function listWithNeed(): Promise<{ entry: Entry; cached: CachedWeights }[]> {
    await mkdir(root, { recursive: true, mode: 0o700 })
    const needed = await listNeeded()
    return (await listEntries(root))
      .toSorted((one, other) => one.usedAt - other.usedAt)
      .map((entry) => ({ entry, cached: describe(entry, includesPath(needed, entry.path)) }))
  }

  function describe({ path, bytes, usedAt }: Entry, isNeeded: boolean): CachedWeights {
    return { name: path.slice(root.length + 1), bytes, usedAt: new Date(usedAt), isNeeded }
  }

  async function prune(): Promise<CachedWeights[]> {
    const pruned: CachedWeights[] = []
    for (const { entry, cached } of await listWithNeed()) {
      if (!cached.isNeeded && (await evict(entry))) pruned.push(cached)
    }
    return pruned
  }

  return {
    list: async (paths) =>
      (await listWithNeed())
        .filter(({ entry }) => paths === undefined || includesPath(paths, entry.path))
        .map(({ cached }) => cached),
    prune: () => runExclusive('room', prune),
    makeRoom: (name, paths) => runExclusive('room', () => makeRoom(name, paths)),
    async measure() {
      const { free, reserve } = await readDisk()
      const bytes = sum((await listEntries(root)).map((entry) => entry.bytes))
      return { bytes, limitBytes: maxWeightBytes ?? Math.max(0, bytes + free - reserve) }
    },
  }
}

async function listEntries(root: string): Promise<Entry[]> {
  const found = await readdir(root, { recursive: true, withFileTypes: true })
  const entries = new Map<string, Entry>()
  for (const file of found.filter((each) => each.isFile())) {
    const path = join(file.parentPath, file.name)
    const owner = path.replace(temporarySuffix, '')
    const status = await stat(path).catch((error: unknown) => {
      if (hasErrorCode(error, 'ENOENT')) return null
      throw error
    })
    if (status === null) continue
    const entry = entries.get(owner) ?? { path: owner, bytes: 0, announced: null, usedAt: 0 }
    entries.set(owner, entry)
    if (path.endsWith('.partial.json')) {
      const total = (await readJson(path))?.['total']
      if (typeof total === 'number') entry.announced = total
    } else {
      entry.bytes += status.size
    }
    entry.usedAt = Math.max(entry.usedAt, status.mtimeMs)
  }
  return [...entries.values()]
}

/** Forgets the announced sizes of downloads that have received nothing. */
async function withdraw(entries: readonly Entry[]): Promise<void> {
  for (const { path, bytes } of entries) if (bytes === 0) await rm(`${path}.partial.json`, { force: true })
}

function missingBytes({ bytes, announced }: Entry): number {
  return Math.max(0, (announced ?? bytes) - bytes)
}

/** True if the paths contain this one or a folder above it. */
function includesPath(paths: readonly string[], path: string): boolean {
  return paths.some((each) => each === path || path.startsWith(each + sep))
}

function partition<T>(values: readonly T[], test: (value: T) => boolean): [T[], T[]] {
  return [values.filter(test), values.filter((value) => !test(value))]
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
