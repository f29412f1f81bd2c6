import { copyFile, open, rename, rm, stat, truncate } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import type { LogLine } from '../../../ports/model-runtime.ts'
import { hasErrorCode } from './files.ts'

/** Bytes of the end of a log that are ever read at once */
const TAIL_BYTES = 2 ** 20
const LONGEST_LOG_BYTES = 8 * 2 ** 20
const LONGEST_LINE = 4096
const POLL_MS = 300

/** Keeps the log of the engine before as `<path>.1`, for the engine that is started now. */
export async function rotateLog(path: string): Promise<void> {
  try {
    await rename(path, `${path}.1`)
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT')) throw error
  }
}

/**
 * Keeps a log that an engine writes from growing without end. The engine holds the file open and appends, so its content
 * is moved and the file emptied; a line written in between is lost.
 */
export async function limitLog(path: string): Promise<void> {
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  )
  if (size <= LONGEST_LOG_BYTES) return
  await rm(`${path}.1`, { force: true })
  await copyFile(path, `${path}.1`)
  await truncate(path)
}

/** The last lines of a log, the rotated part included, oldest first. */
export async function readLog(path: string, limit: number): Promise<LogLine[]> {
  if (limit <= 0) return []
  const lines = await readTail(path)
  const earlier = lines.length < limit ? await readTail(`${path}.1`) : []
  return [...earlier, ...lines].slice(-limit)
}

/** Lines as they are written from now on, until the signal fires; the log may come later or be replaced. */
export async function* followLog(path: string, signal: AbortSignal): AsyncIterable<LogLine> {
  let file = await identify(path)
  let offset = file.size
  let rest = Buffer.alloc(0)
  while (!signal.aborted) {
    const now = await identify(path)
    if (now.inode !== file.inode || now.size < offset) {
      offset = 0
      rest = Buffer.alloc(0)
    }
    file = now
    if (now.size > offset) {
      const bytes = await readRange(path, offset, Math.min(now.size, offset + TAIL_BYTES))
      offset += bytes.length
      const text = Buffer.concat([rest, bytes])
      const end = text.lastIndexOf(0x0a) + 1
      rest = text.length - end > TAIL_BYTES ? Buffer.alloc(0) : text.subarray(end)
      for (const line of toLines(text.subarray(0, end), new Date())) {
        yield line
        if (signal.aborted) return
      }
      if (bytes.length > 0) continue
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => {})
  }
}

async function readTail(path: string): Promise<LogLine[]> {
  const { size, changedAt } = await identify(path)
  const start = Math.max(0, size - TAIL_BYTES)
  const bytes = await readRange(path, start, size)
  // A line that is only half in the tail is left out.
  return toLines(start === 0 ? bytes : bytes.subarray(bytes.indexOf(0x0a) + 1), changedAt)
}

/** An engine puts the time before each line; a line without, such as one of a crash, has the time of the line before. */
function toLines(bytes: Buffer, fallback: Date): LogLine[] {
  const lines: LogLine[] = []
  for (const raw of bytes.toString('utf8').split('\n')) {
    const text = stripVTControlCharacters(raw).replaceAll('\0', '').trimEnd().slice(0, LONGEST_LINE)
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
    const { ino, size, mtime } = await stat(path)
    return { inode: ino, size, changedAt: mtime }
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return { inode: 0, size: 0, changedAt: new Date(0) }
    throw error
  }
}

async function readRange(path: string, start: number, end: number): Promise<Buffer> {
  if (end <= start) return Buffer.alloc(0)
  try {
    const handle = await open(path, 'r')
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start)
      return buffer.subarray(0, bytesRead)
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return Buffer.alloc(0)
    throw error
  }
}
