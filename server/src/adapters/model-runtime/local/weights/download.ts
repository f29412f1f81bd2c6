import { mkdir, open, rename, rm, stat, statfs, truncate } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import type { FileHasher } from '../../../../base/file-hasher.ts'
import { formatFileSize } from '../../../../base/format-bytes.ts'
import { findShortage } from '../../../../base/local-shortage.ts'
import { DownloadError, RetryableError, describeCause } from './download-errors.ts'
import { discard, fetchBytes, fetchSize } from './fetch-bytes.ts'
import type { ByteResponse, DownloadSource } from './fetch-bytes.ts'
import { hasErrorCode, readJson, syncDirectory, unlessGone, writeJson } from '../files.ts'
import type { RetrySettings } from '../settings.ts'

/** Progress of a download in bytes. `note` describes what it is waiting for when no data arrives. */
export interface DownloadProgress {
  received: number
  total: number | null
  note: string | null
}

export interface DownloadOptions {
  dispatcher: Dispatcher
  retry: RetrySettings
  hasher: FileHasher
  signal: AbortSignal
  /** Makes room for the file once its size is recorded. Throws DownloadError if it can't fit. */
  makeRoom: () => Promise<void>
  onProgress: (progress: DownloadProgress) => void
}

/** Stored next to a partial file, to detect whether the file on the server has changed. */
interface PartialState {
  url: string
  /** Identifies the version of the file: the hub's checksum, else `ETag`, else `Last-Modified` */
  validator: string | null
  total: number | null
  sha256: string | null
}

/** A download of unknown size checks the space again each time it has received this many bytes. */
const spaceCheckBytes = 64 * 2 ** 20
const maxBackoffMs = 60_000
const maxRetryAfterMs = 300_000

/**
 * Downloads a weight file to `path`, which only ever holds a complete and verified file, or resumes an
 * earlier attempt. Throws DownloadError, or the signal's reason, and then keeps the partial file.
 */
export async function downloadFile(
  path: string,
  source: DownloadSource,
  options: DownloadOptions,
): Promise<void> {
  let failures = 0
  for (;;) {
    const receivedBefore = await sizeOf(`${path}.partial`)
    try {
      const state = await receive(path, source, options)
      await finish(path, state, source, options)
      return
    } catch (error) {
      options.signal.throwIfAborted()
      // Another process, such as a prefetch, may have finished the same download.
      if ((await sizeOf(path)) > 0) return
      if (hasErrorCode(error, 'ENOSPC', 'EDQUOT')) throw await diskFull(path)
      if (!(error instanceof RetryableError)) throw error
      const received = await sizeOf(`${path}.partial`)
      failures = received > receivedBefore ? 1 : failures + 1
      const attempts = options.retry.attempts * (received > 0 ? 2 : 1)
      if (failures >= attempts) throw new DownloadError('download_failed', error.message)
      const backoff = Math.min(options.retry.baseDelayMs * 2 ** (failures - 1), maxBackoffMs)
      const wait = Math.min(error.retryAfterMs ?? backoff, maxRetryAfterMs)
      const { total } = await readState(path)
      const note = `${error.message.replace(/\.$/, '')}; retrying in ${Math.ceil(wait / 1000)} s`
      options.onProgress({ received, total, note })
      await sleep(wait, undefined, { signal: options.signal })
    }
  }
}

/** Records a file's size (null if unknown) early, so that the cache can make room for several files. */
export async function announceFile(
  path: string,
  source: DownloadSource,
  bytes: number | null,
  options: Pick<DownloadOptions, 'dispatcher' | 'signal'>,
): Promise<void> {
  if ((await readState(path)).total !== null) return
  const total = bytes ?? (await fetchSize(source, options))
  if (total === null) return
  await mkdir(dirname(path), { recursive: true })
  await writeJson(`${path}.partial.json`, { total })
}

/** Downloads the missing part of the partial file and returns its state. */
async function receive(
  path: string,
  source: DownloadSource,
  options: DownloadOptions,
): Promise<PartialState> {
  const partial = `${path}.partial`
  const state = await readState(path)
  let offset = await sizeOf(partial)
  const resumable = state.url === source.url && state.validator !== null && state.sha256 === source.sha256
  if (!resumable || (state.total !== null && offset > state.total)) offset = 0
  if (offset > 0 && offset === state.total) return state

  await mkdir(dirname(path), { recursive: true })
  const response = await openResponse(source, offset, state, options)
  try {
    const next = {
      url: source.url,
      validator: response.validator,
      total: response.total,
      sha256: source.sha256,
    }
    if (response.start === 0) {
      // Truncate before writing the new state, so that a crash in between can't mix the bytes of two files.
      if ((await sizeOf(partial)) > 0) await truncate(partial)
      await writeJson(`${partial}.json`, next)
    }
    if (response.total !== null) await options.makeRoom()
    await append(partial, response, options)
    return next
  } finally {
    discard(response.body)
  }
}

/** Requests the bytes from `offset` on, or the whole file if it has changed on the server. */
async function openResponse(
  source: DownloadSource,
  offset: number,
  state: PartialState,
  options: DownloadOptions,
): Promise<ByteResponse> {
  const response = await fetchBytes(source, offset, state.validator, options)
  if (response.start === 0) return response
  const isUnchanged = response.validator === state.validator && response.total === state.total
  if (isUnchanged && response.start === offset) return response
  discard(response.body)
  const whole = await fetchBytes(source, 0, null, options)
  if (whole.start === 0) return whole
  discard(whole.body)
  throw new RetryableError(`The server sent the wrong byte range of ${source.name}.`)
}

async function append(partial: string, response: ByteResponse, options: DownloadOptions): Promise<void> {
  const handle = await open(partial, (await sizeOf(partial)) > 0 ? 'r+' : 'w')
  try {
    let received = response.start
    let checked = received
    options.onProgress({ received, total: response.total, note: null })
    for await (const chunk of readBody(response.body)) {
      if (response.total !== null && received + chunk.length > response.total) {
        throw new DownloadError(
          'download_failed',
          `The server sent more than the announced ${response.total} bytes.`,
        )
      }
      await writeAll(handle, chunk, received)
      received += chunk.length
      options.onProgress({ received, total: response.total, note: null })
      if (response.total === null && received - checked > spaceCheckBytes) {
        await options.makeRoom()
        checked = received
      }
    }
    if (response.total !== null && received < response.total)
      throw new RetryableError('The connection was closed before the download finished.')
  } finally {
    await handle.close()
  }
}

async function* readBody(body: AsyncIterable<unknown>): AsyncIterable<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  for (;;) {
    let next: IteratorResult<unknown>
    try {
      next = await chunks.next()
    } catch (error) {
      throw new RetryableError(`The connection was lost (${describeCause(error)}).`)
    }
    if (next.done === true) return
    if (next.value instanceof Uint8Array) yield next.value
  }
}

/** Writes at a position, so that a second process overwrites bytes instead of appending. */
async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0
  while (written < bytes.length) {
    const result = await handle.write(bytes, written, bytes.length - written, position + written)
    written += result.bytesWritten
  }
}

/** Verifies the partial file and renames it to its final name. An invalid file is deleted. */
async function finish(
  path: string,
  state: PartialState,
  source: DownloadSource,
  options: DownloadOptions,
): Promise<void> {
  const partial = `${path}.partial`
  const size = await sizeOf(partial)
  options.onProgress({ received: size, total: state.total, note: 'verifying the file' })
  const defect = await findDefect(partial, size, state, source, options)
  if (defect !== null) {
    await rm(partial, { force: true })
    throw new DownloadError('download_failed', `${basename(path)} ${defect}, so the download was deleted.`)
  }
  const handle = await open(partial, 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(partial, path)
  await syncDirectory(dirname(path))
  await rm(`${partial}.json`, { force: true })
}

async function findDefect(
  partial: string,
  size: number,
  state: PartialState,
  source: DownloadSource,
  { hasher, signal }: DownloadOptions,
): Promise<string | null> {
  if (state.total !== null && size !== state.total) return `has ${size} bytes instead of ${state.total}`
  if (source.isGguf && !(await isGguf(partial))) return 'is not a GGUF file'
  const sha256 = state.sha256 ?? state.validator?.match(/^sha256:(.*)$/)?.[1] ?? null
  if (sha256 === null) return null
  const actual = await hasher.hash(partial, signal)
  return actual === sha256 ? null : `has the SHA-256 ${actual} instead of ${sha256}`
}

/** True if the file exists and starts with the GGUF magic number. */
export async function isGguf(path: string): Promise<boolean> {
  const handle = await unlessGone(open(path, 'r'), null)
  if (handle === null) return false
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0)
    return bytesRead === 4 && buffer.toString('latin1') === 'GGUF'
  } catch (error) {
    if (findShortage(error) !== null) throw error
    return false
  } finally {
    await handle.close()
  }
}

async function readState(path: string): Promise<PartialState> {
  const state = await readJson(`${path}.partial.json`)
  return {
    url: typeof state?.['url'] === 'string' ? state['url'] : '',
    validator: typeof state?.['validator'] === 'string' ? state['validator'] : null,
    total: typeof state?.['total'] === 'number' ? state['total'] : null,
    sha256: typeof state?.['sha256'] === 'string' ? state['sha256'] : null,
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return 0
    throw error
  }
}

/** Deletes the partial file immediately, because the database may be on the same disk. */
async function diskFull(path: string): Promise<DownloadError> {
  const { total } = await readState(path)
  const received = await sizeOf(`${path}.partial`)
  await rm(`${path}.partial`, { force: true })
  const { bavail, bsize } = await statfs(dirname(path))
  const needed = total === null ? `more than ${formatFileSize(received)}` : formatFileSize(total)
  return new DownloadError(
    'disk_full',
    `The disk of DATA_DIR is full: ${basename(path)} needs ${needed}, but only ${formatFileSize(bavail * bsize)} are available. ` +
      'Free up disk space and deploy again.',
  )
}
