import { constants } from 'node:fs'
import { copyFile, lstat, rename, rm, truncate } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import type { LogLine } from '../../../../ports/model-runtime.ts'
import { hasErrorCode, openRegular } from '../files.ts'

/** Maximum bytes read from the end of a log */
const tailBytes = 2 ** 20
const maxLogBytes = 8 * 2 ** 20
const maxLineLength = 4096
const pollMs = 300

/** Renames the log of the previous engine to `<path>.1`. */
export async function rotateLog(path: string): Promise<void> {
  try {
    await rename(path, `${path}.1`)
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT')) throw error
  }
}

/** Copies and truncates a long log, because the engine has it open. A line written in between is lost. */
export async function limitLog(path: string): Promise<void> {
  const size = await lstat(path).then(
    (found) => found.size,
    () => 0,
  )
  if (size <= maxLogBytes) return
  await rm(`${path}.1`, { force: true })
  // Fails if an engine has made a link of this name since.
  await copyFile(path, `${path}.1`, constants.COPYFILE_EXCL)
  await truncate(path)
}

/** Lines without the path of this folder, which is no business of those who may read an engine's log. */
export function hideFolder(folder: string): (line: LogLine) => LogLine {
  return ({ at, line }) => ({ at, line: line.replaceAll(`${folder}/`, '') })
}

/** The last lines of a log, including the rotated file, oldest first. */
export async function readLog(path: string, limit: number): Promise<LogLine[]> {
  const file = await identify(path)
  return withEarlierLines(path, toLines(await readTail(path, file.size), file.changedAt), limit)
}

/** Yields the last `tail` lines, then each new one. The log may be created later or be replaced. */
export async function* followLog(path: string, tail: number, signal: AbortSignal): AsyncIterable<LogLine> {
  let file = await identify(path)
  let offset = file.size
  let rest = await readTail(path, file.size)
  const complete = rest.subarray(0, rest.lastIndexOf(0x0a) + 1)
  rest = rest.subarray(complete.length)
  yield* await withEarlierLines(path, toLines(complete, file.changedAt), tail)
  while (!signal.aborted) {
    const now = await identify(path)
    if (now.inode !== file.inode || now.size < offset) {
      offset = 0
      rest = Buffer.alloc(0)
    }
    file = now
    if (now.size > offset) {
      const bytes = await readRange(path, offset, Math.min(now.size, offset + tailBytes))
      offset += bytes.length
      const text = Buffer.concat([rest, bytes])
      const end = text.lastIndexOf(0x0a) + 1
      rest = text.length - end > tailBytes ? Buffer.alloc(0) : text.subarray(end)
      for (const line of toLines(text.subarray(0, end), new Date())) {
        yield line
        if (signal.aborted) return
      }
      if (bytes.length > 0) continue
    }
    await sleep(pollMs, undefined, { signal }).catch(() => {})
  }
}

/** The last `limit` of a log's lines, with lines of the rotated file if there are fewer. */
async function withEarlierLines(path: string, lines: LogLine[], limit: number): Promise<LogLine[]> {
  if (limit <= 0) return []
  if (lines.length >= limit) return lines.slice(-limit)
  const { size, changedAt } = await identify(`${path}.1`)
  return [...toLines(await readTail(`${path}.1`, size), changedAt), ...lines].slice(-limit)
}

/** The end of a file of `size` bytes, without the first line if it may be cut off. */
async function readTail(path: string, size: number): Promise<Buffer> {
  const start = Math.max(0, size - tailBytes)
  const bytes = await readRange(path, start, size)
  return start === 0 ? bytes : bytes.subarray(bytes.indexOf(0x0a) + 1)
}

/** Lines start with a timestamp. Others, as in a stack trace, get the time of the previous line. */
function toLines(bytes: Buffer, fallback: Date): LogLine[] {
  const lines: LogLine[] = []
  for (const raw of bytes.toString('utf8').split('\n')) {
    const text = stripVTControlCharacters(raw).replaceAll('\0', '').trimEnd().slice(0, maxLineLength)
    if (text === '') continue
    const [, time, message] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z) ?(.*)$/.exec(text) ?? []
    const at = time === undefined ? Number.NaN : Date.parse(time)
    lines.push(
      Number.isNaN(at)
        ? { at: lines.at(-1)?.at ?? fallback, line: text }
        : { at: new Date(at), line: message ?? '' },
    )
  }
  return lines
}

async function identify(path: string): Promise<{ inode: number; size: number; changedAt: Date }> {
  try {
    const { ino, size, mtime } = await lstat(path)
    return { inode: ino, size, changedAt: mtime }
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return { inode: 0, size: 0, changedAt: new Date(0) }
    throw error
  }
}

async function readRange(path: string, start: number, end: number): Promise<Buffer> {
  if (end <= start) return Buffer.alloc(0)
  try {
    const handle = await openRegular(path)
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start)
      return buffer.subarray(0, bytesRead)
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ELOOP')) return Buffer.alloc(0)
    throw error
  }
}
