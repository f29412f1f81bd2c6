import { stat } from 'node:fs/promises'
import type { Dispatcher } from 'undici'
import type { FileHasher } from '../../../../base/file-hasher.ts'
import type { RetrySettings } from '../settings.ts'
import { unlessGone } from '../files.ts'
import { DownloadError } from './download-errors.ts'
import { downloadFile, isGguf } from './download.ts'
import type { DownloadProgress } from './download.ts'
import type { WeightCache } from './weight-cache.ts'
import type { WeightFile } from './weight-files.ts'

/** The download of one file, shared by all engines that wait for it. */
export interface FileDownload {
  progress: DownloadProgress
  controller: AbortController
  waiters: number
  done: Promise<void>
}

export interface DownloadContext {
  connection: { dispatcher: Dispatcher; retry: RetrySettings }
  hasher: FileHasher
  cache: WeightCache
  /** Downloads in flight, by path */
  downloads: Map<string, FileDownload>
}

function startDownload(
  { downloads, connection, hasher, cache }: DownloadContext,
  file: WeightFile,
  source: NonNullable<WeightFile['source']>,
): FileDownload {
  const controller = new AbortController()
  const download: FileDownload = {
    progress: { received: 0, total: null, note: 'connecting' },
    controller,
    waiters: 0,
    done: Promise.resolve(),
  }
  download.done = downloadFile(file.path, source, {
    ...connection,
    hasher,
    signal: controller.signal,
    makeRoom: () => cache.makeRoom(file.name, [file.path]),
    onProgress: (progress) => {
      download.progress = progress
    },
  }).finally(() => downloads.delete(file.path))
  downloads.set(file.path, download)
  return download
}

/** Waits for a shared download, if any, and calls `onStart` with it. The last waiter to leave cancels it. */
export async function awaitFile(
  context: DownloadContext,
  file: WeightFile,
  signal: AbortSignal,
  onStart: (download: FileDownload) => void,
): Promise<void> {
  const { downloads } = context
  if (await isPresent(file)) return
  if (file.source === null) throw missingFile(file)
  let download = downloads.get(file.path)
  while (download?.controller.signal.aborted === true) {
    await download.done.catch(() => {})
    download = downloads.get(file.path)
  }
  signal.throwIfAborted()
  download ??= startDownload(context, file, file.source)
  onStart(download)
  download.waiters += 1
  const left = Promise.withResolvers<never>()
  const leave = () => left.reject(signal.reason)
  signal.addEventListener('abort', leave)
  try {
    await Promise.race([download.done, left.promise])
  } finally {
    signal.removeEventListener('abort', leave)
    download.waiters -= 1
    if (download.waiters === 0) {
      download.controller.abort()
      await download.done.catch(() => {})
    }
  }
}

/** True for a complete file. Downloads verify the contents before they give a file its name. */
export async function isPresent({ path, source, bytes }: Omit<WeightFile, 'name'>): Promise<boolean> {
  if (source === null || source.isGguf) return isGguf(path)
  const found = await unlessGone(stat(path), null)
  return found !== null && (bytes === null || found.size === bytes)
}

function missingFile({ name, isUpload }: WeightFile): DownloadError {
  const message =
    isUpload === true
      ? `The uploaded file ${name} is missing on this host or is damaged. Upload it again and deploy again.`
      : `The file ${name} from the catalog is missing on this host or is not a GGUF file. Add it and deploy again.`
  return new DownloadError('model_not_found', message)
}
