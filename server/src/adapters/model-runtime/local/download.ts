import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rename, rm, stat, statfs, truncate, type FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { formatFileSize } from '../../../format-bytes.ts'
import { DownloadError, PassingFault, describeCause } from './download-errors.ts'
import { discard, fetchBytes, type ByteAnswer, type DownloadSource } from './fetch-bytes.ts'
import { hasErrorCode, readJson, syncDirectory, writeJson } from './files.ts'
import type { RetrySettings } from './settings.ts'

/** How far a download is, in bytes; `note` says what it waits for when it isn't receiving. */
export interface DownloadProgress {
  received: number
  total: number | null
  note: string | null
}

export interface DownloadOptions {
  dispatcher: Dispatcher
  retry: RetrySettings
  signal: AbortSignal
  onProgress: (progress: DownloadProgress) => void
}

/** What is kept beside a partial file, to know whether the server still has the same one. */
interface PartialState {
  url: string
  /** The file's identity: the hub's checksum, else the ETag, else the date of its last change */
  validator: string | null
  total: number | null
  sha256: string | null
}

/** Room that a download leaves on the disk, which the database may share */
const SPARE_DISK_BYTES = 256 * 2 ** 20
const LONGEST_WAIT_MS = 60_000
const LONGEST_RETRY_AFTER_MS = 300_000

/**
 * Fetches a GGUF file to `path`, going on where an earlier try ended. What is under the final name is always whole
 * and checked. Throws DownloadError, or the signal's reason when aborted, which keeps the partial file.
 */
export async function downloadFile(
  path: string,
  source: DownloadSource,
  options: DownloadOptions,
): Promise<void> {
  let failures = 0
  for (;;) {
    const before = await sizeOf(`${path}.partial`)
    try {
      const state = await receive(path, source, options)
      await finish(path, state, options)
      return
    } catch (error) {
      options.signal.throwIfAborted()
      if (hasErrorCode(error, 'ENOSPC', 'EDQUOT')) throw await diskFull(path)
      if (!(error instanceof PassingFault)) throw error
      const received = await sizeOf(`${path}.partial`)
      failures = received > before ? 1 : failures + 1
      const attempts = options.retry.attempts * (received > 0 ? 2 : 1)
      if (failures >= attempts) throw new DownloadError('download_failed', error.message)
      const backoff = Math.min(options.retry.baseDelayMs * 2 ** (failures - 1), LONGEST_WAIT_MS)
      const wait = Math.min(error.retryAfterMs ?? backoff, LONGEST_RETRY_AFTER_MS)
      const { total } = await readState(path)
      const note = `${error.message.replace(/\.$/, '')}; trying again in ${Math.ceil(wait / 1000)} s`
      options.onProgress({ received, total, note })
      await sleep(wait, undefined, { signal: options.signal })
    }
  }
}

/** Brings the partial file to its full length and returns what is known of it. */
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
  const answer = await openAnswer(source, offset, state, options)
  try {
    const next = { url: source.url, validator: answer.validator, total: answer.total, sha256: source.sha256 }
    if (answer.start === 0) {
      // The bytes go before the note that describes them, so that a crash between never joins two files.
      if ((await sizeOf(partial)) > 0) await truncate(partial)
      await writeJson(`${partial}.json`, next)
    }
    await requireSpace(path, answer.total === null ? 0 : answer.total - answer.start)
    await append(partial, answer, options)
    return next
  } finally {
    discard(answer.body)
  }
}

/** The bytes from `offset` on when the server still has the file that the earlier ones are of, else all of them. */
async function openAnswer(
  source: DownloadSource,
  offset: number,
  state: PartialState,
  options: DownloadOptions,
): Promise<ByteAnswer> {
  const answer = await fetchBytes(source, offset, state.validator, options)
  if (answer.start === 0) return answer
  const same = answer.validator === state.validator && answer.total === state.total
  if (same && answer.start === offset) return answer
  discard(answer.body)
  const whole = await fetchBytes(source, 0, null, options)
  if (whole.start === 0) return whole
  discard(whole.body)
  throw new PassingFault(`The server sent another part of ${source.name} than the one asked for.`)
}

async function append(partial: string, answer: ByteAnswer, options: DownloadOptions): Promise<void> {
  const handle = await open(partial, (await sizeOf(partial)) > 0 ? 'r+' : 'w')
  try {
    let received = answer.start
    options.onProgress({ received, total: answer.total, note: null })
    for await (const chunk of readBody(answer.body)) {
      if (answer.total !== null && received + chunk.length > answer.total) {
        throw new DownloadError(
          'download_failed',
          `The server sent more than the ${answer.total} bytes it named.`,
        )
      }
      await writeAll(handle, chunk, received)
      received += chunk.length
      options.onProgress({ received, total: answer.total, note: null })
    }
    if (answer.total !== null && received < answer.total)
      throw new PassingFault('The connection ended early.')
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
      throw new PassingFault(`The connection was lost (${describeCause(error)}).`)
    }
    if (next.done === true) return
    if (next.value instanceof Uint8Array) yield next.value
  }
}

/** Writes at an explicit place: a second process on the same file would write the same bytes, not add them. */
async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0
  while (written < bytes.length) {
    const result = await handle.write(bytes, written, bytes.length - written, position + written)
    written += result.bytesWritten
  }
}

/** Checks the whole partial file and gives it its final name. A file that is wrong is deleted. */
async function finish(path: string, state: PartialState, options: DownloadOptions): Promise<void> {
  const partial = `${path}.partial`
  const size = await sizeOf(partial)
  options.onProgress({ received: size, total: state.total, note: 'checking the file' })
  const wrong = await findFault(partial, size, state, options.signal)
  if (wrong !== null) {
    await rm(partial, { force: true })
    throw new DownloadError('download_failed', `${basename(path)} ${wrong}; the download was deleted.`)
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

async function findFault(
  partial: string,
  size: number,
  state: PartialState,
  signal: AbortSignal,
): Promise<string | null> {
  if (state.total !== null && size !== state.total) return `has ${size} bytes instead of ${state.total}`
  if (!(await isGguf(partial))) return 'is not a GGUF file'
  const sha256 = state.sha256 ?? state.validator?.match(/^sha256:(.*)$/)?.[1] ?? null
  if (sha256 === null) return null
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(partial, { signal, highWaterMark: 2 ** 20 })) hash.update(chunk)
  const actual = hash.digest('hex')
  return actual === sha256 ? null : `has the SHA-256 ${actual} instead of ${sha256}`
}

/** Whether a file exists and begins as every GGUF file does. */
export async function isGguf(path: string): Promise<boolean> {
  let handle: FileHandle
  try {
    handle = await open(path, 'r')
  } catch {
    return false
  }
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0)
    return bytesRead === 4 && buffer.toString('latin1') === 'GGUF'
  } catch {
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

async function requireSpace(path: string, needed: number): Promise<void> {
  const free = await freeBytes(path)
  if (needed > 0 && needed + SPARE_DISK_BYTES > free) {
    throw new DownloadError(
      'disk_full',
      `${basename(path)} needs ${formatFileSize(needed)} more and ${formatFileSize(SPARE_DISK_BYTES)} to spare, ` +
        `but the disk of DATA_DIR has ${formatFileSize(free)} free.`,
    )
  }
}

async function freeBytes(path: string): Promise<number> {
  const disk = await statfs(dirname(path))
  return disk.bavail * disk.bsize
}

/** Gives the room back at once, because the database may live on the same disk. */
async function diskFull(path: string): Promise<DownloadError> {
  const { total } = await readState(path)
  const received = await sizeOf(`${path}.partial`)
  await rm(`${path}.partial`, { force: true })
  const needed = total === null ? `more than ${formatFileSize(received)}` : formatFileSize(total)
  const free = formatFileSize(await freeBytes(path))
  return new DownloadError(
    'disk_full',
    `The disk of DATA_DIR filled up: ${basename(path)} needs ${needed}, and ${free} are free without it.`,
  )
}
