import { stat, utimes } from 'node:fs/promises'
import { EnvHttpProxyAgent } from 'undici'
import { formatFileSize } from '../../../format-bytes.ts'
import type { EngineObservation, ModelVariant } from '../../../ports/model-runtime.ts'
import { DownloadError } from './download-errors.ts'
import { announceFile, downloadFile, isGguf, type DownloadProgress } from './download.ts'
import { hasErrorCode } from './files.ts'
import type { LocalRuntimeSettings, RetrySettings } from './settings.ts'
import { createWeightCache, type CacheSize } from './weight-cache.ts'
import { fetchSnapshot, readSnapshot } from './snapshot.ts'
import { locateRepository, locateWeights, type WeightFile, type WeightFolder } from './weight-files.ts'

/** The cache of model weights and its downloads. */
export interface WeightStore {
  /** Returns the path of cached weights. Otherwise makes sure that a download is running and returns null. */
  ensure(deploymentId: string, variant: ModelVariant): Promise<string | null>
  /** The state of a deployment's download; null if there is none or it has succeeded. */
  observe(deploymentId: string): EngineObservation | null
  /** Cancels the download for a deployment, or clears its failure. Partial files are kept. */
  cancel(deploymentId: string): Promise<void>
  /** The size and the limit of the cache. */
  measure(): Promise<CacheSize>
  /** Cancels all downloads. */
  close(): Promise<void>
}

/** The download of one file, shared by all deployments that wait for it. */
interface FileDownload {
  progress: DownloadProgress
  controller: AbortController
  waiters: number
  done: Promise<void>
}

/** The download of all files of one deployment, one after the other. */
interface WeightFetch {
  /** A repository whose files are not known yet; null for known files */
  repository: WeightFolder | null
  files: WeightFile[]
  index: number
  finishedBytes: number
  expectedBytes: number | null
  current: FileDownload | null
  controller: AbortController
  failure: DownloadError | null
  done: Promise<void>
}

const DEFAULT_RETRY: RetrySettings = { attempts: 5, baseDelayMs: 1000, idleTimeoutMs: 60_000 }

/**
 * Opens the cache under `DATA_DIR/weights`. `listNeeded` returns the paths that deployments need, including those that wait for a
 * download; null if that is unknown.
 */
export function createWeightStore(
  settings: LocalRuntimeSettings,
  listNeeded: () => Promise<readonly string[] | null>,
): WeightStore {
  const cache = createWeightCache(settings, listNeeded)
  const retry = settings.retry ?? DEFAULT_RETRY
  const timeouts = {
    bodyTimeout: retry.idleTimeoutMs,
    headersTimeout: retry.idleTimeoutMs,
    connect: { timeout: Math.min(10_000, retry.idleTimeoutMs) },
  }
  const { http = null, https = null, exceptions = null } = settings.proxy ?? {}
  const dispatcher = new EnvHttpProxyAgent({
    ...timeouts,
    // Empty strings, because undici reads omitted options from the environment.
    httpProxy: http ?? '',
    httpsProxy: https ?? '',
    noProxy: exceptions ?? '',
  })
  const downloads = new Map<string, FileDownload>()
  const fetches = new Map<string, WeightFetch>()

  function startDownload(file: WeightFile, source: NonNullable<WeightFile['source']>): FileDownload {
    const controller = new AbortController()
    const download: FileDownload = {
      progress: { received: 0, total: null, note: 'connecting' },
      controller,
      waiters: 0,
      done: Promise.resolve(),
    }
    download.done = downloadFile(file.path, source, {
      dispatcher,
      retry,
      signal: controller.signal,
      makeRoom: () => cache.makeRoom(file.name, [file.path]),
      onProgress: (progress) => {
        download.progress = progress
      },
    }).finally(() => downloads.delete(file.path))
    downloads.set(file.path, download)
    return download
  }

  /** Waits for the shared download of a file. The last waiter to leave cancels it. */
  async function awaitFile(file: WeightFile, fetch: WeightFetch): Promise<void> {
    if (await isPresent(file)) return
    if (file.source === null) throw missingFile(file)
    let download = downloads.get(file.path)
    while (download?.controller.signal.aborted === true) {
      await download.done.catch(() => {})
      download = downloads.get(file.path)
    }
    fetch.controller.signal.throwIfAborted()
    download ??= startDownload(file, file.source)
    fetch.current = download
    download.waiters += 1
    const left = Promise.withResolvers<never>()
    const leave = () => left.reject(fetch.controller.signal.reason)
    fetch.controller.signal.addEventListener('abort', leave)
    try {
      await Promise.race([download.done, left.promise])
    } finally {
      fetch.controller.signal.removeEventListener('abort', leave)
      download.waiters -= 1
      if (download.waiters === 0) {
        download.controller.abort()
        await download.done.catch(() => {})
      }
    }
  }

  async function listKnownFiles(
    repository: WeightFolder | null,
    variant: ModelVariant,
  ): Promise<WeightFile[]> {
    if (repository === null) return locateWeights(variant, settings)
    return ((await readSnapshot(repository.folder)) ?? []).map(repository.toFile)
  }

  async function listFiles(fetch: WeightFetch): Promise<void> {
    const { repository, controller } = fetch
    if (repository === null) return
    const options = { dispatcher, retry, signal: controller.signal }
    const files = await fetchSnapshot(repository.folder, repository.source, options)
    fetch.files = files.map(repository.toFile)
    fetch.expectedBytes = files.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Several files must fit together before the first one is downloaded. A single one is checked when its download starts. */
  async function makeRoomForAll({ files, controller: { signal } }: WeightFetch): Promise<void> {
    const [first] = files
    if (first === undefined || files.length === 1) return
    for (const { path, source, bytes } of files) {
      if (source !== null && !(await isPresent({ path, source, bytes })))
        await announceFile(path, source, bytes, { dispatcher, signal })
    }
    await cache.makeRoom(
      `${first.name} (${files.length} files)`,
      files.map(({ path }) => path),
    )
  }

  async function runFetch(deploymentId: string, fetch: WeightFetch): Promise<void> {
    try {
      await listFiles(fetch)
      await makeRoomForAll(fetch)
      for (const [index, file] of fetch.files.entries()) {
        fetch.index = index
        fetch.current = null
        await awaitFile(file, fetch)
        fetch.finishedBytes += fetch.current === null ? 0 : receivedBytes(fetch.current)
      }
      if (fetches.get(deploymentId) === fetch) fetches.delete(deploymentId)
    } catch (error) {
      if (fetch.controller.signal.aborted) return
      fetch.failure = toDownloadError(error)
      settings.logger.warn({ deploymentId, err: error }, 'downloading model weights failed')
    }
  }

  return {
    async ensure(deploymentId, variant) {
      const running = fetches.get(deploymentId)
      if (running !== undefined) return null
      const fetch: WeightFetch = {
        repository: null,
        files: [],
        index: 0,
        finishedBytes: 0,
        expectedBytes: variant.weightBytes,
        current: null,
        controller: new AbortController(),
        failure: null,
        done: Promise.resolve(),
      }
      try {
        const repository = locateRepository(variant, settings)
        const files = await listKnownFiles(repository, variant)
        const present = await Promise.all(files.map(isPresent))
        if (files.length > 0 && present.every(Boolean) && (await markAsUsed(files))) {
          return repository?.folder ?? files[0]?.path ?? null
        }
        // The files of a repository may have changed since they were listed.
        if (repository === null) fetch.files = files
        else fetch.repository = repository
      } catch (error) {
        fetch.failure = toDownloadError(error)
      }
      fetches.set(deploymentId, fetch)
      if (fetch.failure === null) fetch.done = runFetch(deploymentId, fetch)
      return null
    },

    observe(deploymentId) {
      const fetch = fetches.get(deploymentId)
      return fetch === undefined ? null : describeFetch(fetch)
    },

    async cancel(deploymentId) {
      const fetch = fetches.get(deploymentId)
      if (fetch === undefined) return
      fetches.delete(deploymentId)
      fetch.controller.abort()
      await fetch.done
    },

    measure: () => cache.measure(),

    async close() {
      const open = [...fetches.values()]
      for (const fetch of open) fetch.controller.abort()
      await Promise.all(open.map((fetch) => fetch.done))
      await dispatcher.destroy()
    },
  }
}

/** True for a complete file. Downloads verify the contents before they give a file its name. */
async function isPresent({ path, source, bytes }: Omit<WeightFile, 'name'>): Promise<boolean> {
  if (source === null || source.isGguf) return isGguf(path)
  const size = await stat(path).then(
    (found) => found.size,
    () => null,
  )
  return size !== null && (bytes === null || size === bytes)
}

/** Sets the time that the cache evicts by. Returns false if a file has just been evicted. */
async function markAsUsed(files: readonly WeightFile[]): Promise<boolean> {
  const now = new Date()
  try {
    for (const { path, source } of files) if (source !== null) await utimes(path, now, now)
    return true
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return false
    throw error
  }
}

function describeFetch(fetch: WeightFetch): EngineObservation {
  const { failure, files, index, current } = fetch
  if (failure !== null) {
    return { phase: 'failed', stage: 'model_download', code: failure.code, message: failure.message }
  }
  const { received, total, note } = current?.progress ?? { received: 0, total: null, note: 'connecting' }
  const name = `${files[index]?.name ?? 'the list of files'}${files.length > 1 ? ` (file ${index + 1} of ${files.length})` : ''}`
  const amount =
    total === null
      ? formatFileSize(received)
      : `${formatAmount(received, total)} (${Math.floor((received / Math.max(total, 1)) * 100)} %)`
  return {
    phase: 'downloading',
    message: `Downloading ${name}: ${note === null || received > 0 ? amount : ''}${
      note === null ? '' : `${received > 0 ? '; ' : ''}${note}`
    }`,
    receivedBytes: fetch.finishedBytes + received,
    totalBytes: files.length === 1 ? total : fetch.expectedBytes,
  }
}

/** `120 of 398 MB`: the unit appears once if both amounts share it. */
function formatAmount(received: number, total: number): string {
  const [part, whole] = [formatFileSize(received), formatFileSize(total)]
  const unit = whole.split(' ')[1] ?? ''
  return `${part.endsWith(` ${unit}`) ? part.slice(0, -unit.length - 1) : part} of ${whole}`
}

function receivedBytes(download: FileDownload): number {
  return download.progress.received
}

function missingFile(file: WeightFile): DownloadError {
  const message = `The file ${file.name} from the catalog is missing on this host or is not a GGUF file. Add it and deploy again.`
  return new DownloadError('model_not_found', message)
}

function toDownloadError(error: unknown): DownloadError {
  if (error instanceof DownloadError) return error
  const reason = error instanceof Error ? error.message : String(error)
  return new DownloadError('download_failed', `The weights could not be saved: ${reason}.`)
}
