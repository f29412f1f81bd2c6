import { formatFileSize } from '../../../../base/format-bytes.ts'
import { findShortage } from '../../../../base/local-shortage.ts'
import type { EngineObservation } from '../../../../ports/model-runtime.ts'
import type { RuntimeLogger } from '../../runtime-logger.ts'
import { DownloadError } from './download-errors.ts'
import { announceFile } from './download.ts'
import { awaitFile, isPresent } from './file-downloads.ts'
import type { DownloadContext, FileDownload } from './file-downloads.ts'
import { fetchSnapshot } from './snapshot.ts'
import type { WeightFile, WeightFolder } from './weight-files.ts'

/** The download of all files of one engine, one after the other. */
export interface WeightFetch {
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

export interface FetchContext extends DownloadContext {
  logger: RuntimeLogger
  /** Fetches in progress and failed ones, by engine */
  fetches: Map<string, WeightFetch>
}

/** Downloads what is missing. A failure stays in `fetch` until the engine's next attempt. */
export async function runFetch(context: FetchContext, engineId: string, fetch: WeightFetch): Promise<void> {
  const { fetches, logger } = context
  try {
    await listFiles(context, fetch)
    await makeRoomForAll(context, fetch)
    for (const [index, file] of fetch.files.entries()) {
      fetch.index = index
      fetch.current = null
      await awaitFile(context, file, fetch.controller.signal, (download) => {
        fetch.current = download
      })
      fetch.finishedBytes += receivedBytes(fetch.current)
    }
    if (fetches.get(engineId) === fetch) fetches.delete(engineId)
  } catch (error) {
    if (fetch.controller.signal.aborted) return
    // The engine's next attempt goes on with the download.
    if (findShortage(error) === null) fetch.failure = toDownloadError(error)
    else if (fetches.get(engineId) === fetch) fetches.delete(engineId)
    logger.warn({ engineId, err: error }, 'downloading model weights failed')
  }
}

async function listFiles({ connection }: FetchContext, fetch: WeightFetch): Promise<void> {
  const { repository, controller } = fetch
  if (repository === null) return
  const options = { ...connection, signal: controller.signal }
  const files = await fetchSnapshot(repository.folder, repository.source, options)
  fetch.files = files.map(repository.toFile)
  fetch.expectedBytes = files.reduce((sum, { bytes }) => sum + bytes, 0)
}

/** Several files must fit together before the first download; each download checks a single one. */
async function makeRoomForAll(
  { cache, connection: { dispatcher } }: FetchContext,
  { files, controller: { signal } }: WeightFetch,
): Promise<void> {
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

/** The state of a fetch, for a person. */
export function describeFetch(fetch: WeightFetch): EngineObservation {
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

function receivedBytes(download: FileDownload | null): number {
  return download?.progress.received ?? 0
}

/** A failure to download or save weights, for a person. */
export function toDownloadError(error: unknown): DownloadError {
  if (error instanceof DownloadError) return error
  const reason = error instanceof Error ? error.message : String(error)
  return new DownloadError('download_failed', `The weights could not be saved: ${reason}.`)
}
