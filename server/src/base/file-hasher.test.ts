import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createFileHasher } from './file-hasher.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-hasher-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const never = new AbortController().signal

function openHasher() {
  const hasher = createFileHasher()
  onTestFinished(() => hasher.close())
  return hasher
}

async function write(name: string, bytes: Buffer) {
  const path = join(folder, name)
  await writeFile(path, bytes)
  return { path, sha256: createHash('sha256').update(bytes).digest('hex') }
}

test('hashes files of any size, several at a time', async () => {
  const hasher = openHasher()
  const sizes = [0, 1, 1024 * 1024, 3_000_001]
  const files = await Promise.all(sizes.map((size) => write(`${size}`, Buffer.alloc(size, 'abc'))))
  const hashes = await Promise.all(files.map(({ path }) => hasher.hash(path, never)))
  expect(hashes).toEqual(files.map(({ sha256 }) => sha256))
})

test('an error or an end of the wait concerns only its own file', async () => {
  const hasher = openHasher()
  const { path, sha256 } = await write('whole', Buffer.alloc(64 * 1024 * 1024, 'abc'))
  const controller = new AbortController()
  const left = hasher.hash(path, controller.signal)
  const missing = hasher.hash(join(folder, 'missing'), never)
  const other = hasher.hash(path, never)
  controller.abort(new Error('the client left'))
  await expect(left).rejects.toThrow('the client left')
  await expect(missing).rejects.toThrow(/ENOENT/)
  expect(await other).toBe(sha256)
  await expect(hasher.hash(path, controller.signal)).rejects.toThrow('the client left')
})

test('the event loop stays free meanwhile', async () => {
  const hasher = openHasher()
  const { path } = await write('large', Buffer.alloc(64 * 1024 * 1024))
  await hasher.hash(path, never)
  const before = performance.eventLoopUtilization()
  await hasher.hash(path, never)
  expect(performance.eventLoopUtilization(before).utilization).toBeLessThan(0.5)
})

test('close rejects what is in progress, and another file starts another thread', async () => {
  const hasher = openHasher()
  const { path, sha256 } = await write('again', Buffer.alloc(64 * 1024 * 1024))
  const pending = hasher.hash(path, never)
  const rejected = expect(pending).rejects.toThrow('the thread that hashes files has ended')
  await hasher.close()
  await rejected
  expect(await hasher.hash(path, never)).toBe(sha256)
})
