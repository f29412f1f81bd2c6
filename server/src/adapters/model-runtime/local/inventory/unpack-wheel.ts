import { createWriteStream } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createInflateRaw } from 'node:zlib'

const endSignature = 0x06_05_4b_50
const entrySignature = 0x02_01_4b_50
const endBytes = 22
const maxCommentBytes = 65_535
const stored = 0
const deflated = 8

interface ZipEntry {
  name: string
  method: number
  compressedSize: number
  /** Where its local header begins */
  offset: number
}

/**
 * Unpacks the shared libraries of a wheel into one folder (PKWARE APPNOTE 4.3). Resolves to their names.
 * Throws
 * an Error for a file that isn't a zip file of less than 4 GiB.
 */
export async function unpackLibraries(wheel: string, folder: string): Promise<string[]> {
  await mkdir(folder, { recursive: true })
  const file = await open(wheel, 'r')
  try {
    const entries = (await readEntries(file)).filter(({ name }) => /\.so(\.\d+)*$/.test(name))
    for (const entry of entries) await unpack(file, entry, join(folder, basename(entry.name)))
    return entries.map(({ name }) => basename(name))
  } finally {
    await file.close()
  }
}

/** Reads the directory at the end of a zip file. */
async function readEntries(file: FileHandle): Promise<ZipEntry[]> {
  const { size } = await file.stat()
  const tail = await read(
    file,
    Math.max(0, size - endBytes - maxCommentBytes),
    Math.min(size, endBytes + maxCommentBytes),
  )
  const end = tail.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]))
  if (end < 0 || tail.length - end < endBytes || tail.readUInt32LE(end) !== endSignature) {
    throw new Error('it is not a zip file')
  }
  const count = tail.readUInt16LE(end + 10)
  const directory = await read(file, tail.readUInt32LE(end + 16), tail.readUInt32LE(end + 12))
  const entries: ZipEntry[] = []
  for (let at = 0; entries.length < count;) {
    if (at + 46 > directory.length || directory.readUInt32LE(at) !== entrySignature) {
      throw new Error('its directory is damaged')
    }
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((field) =>
      directory.readUInt16LE(at + field),
    )
    entries.push({
      name: directory.toString('utf8', at + 46, at + 46 + nameLength!),
      method: directory.readUInt16LE(at + 10),
      compressedSize: directory.readUInt32LE(at + 20),
      offset: directory.readUInt32LE(at + 42),
    })
    at += 46 + nameLength! + extraLength! + commentLength!
  }
  return entries
}

async function unpack(
  file: FileHandle,
  { name, method, compressedSize, offset }: ZipEntry,
  path: string,
): Promise<void> {
  if (method !== stored && method !== deflated) throw new Error(`${name} is compressed in an unknown way`)
  const header = await read(file, offset, 30)
  const start = offset + 30 + header.readUInt16LE(26) + header.readUInt16LE(28)
  const target = createWriteStream(path, { mode: 0o755 })
  if (compressedSize === 0) return void target.end()
  const source = file.createReadStream({ start, end: start + compressedSize - 1, autoClose: false })
  await (method === stored ? pipeline(source, target) : pipeline(source, createInflateRaw(), target))
}

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}
