import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createDiskStore } from '../../src/adapters/model-store/disk.ts'
import { sweepUploads } from '../../src/features/own-models/uploads/remove-upload.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { createDataDirectory, removeDataDirectory, spawnServer } from '../support/process.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import { announceUpload, readOffset, sendPart, sha256, startUpload, tusHeaders } from '../support/tus.ts'

const tiny = readFileSync(resolve(import.meta.dirname, '../../../catalog/weights/berth-tiny.gguf'))

/** Mounts a small filesystem; false without the privilege. */
function mount(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

test('a disk that fills during an upload is a 503 storage_full, and the upload goes on when it has room', async ({
  skip,
}) => {
  const server = await startTestServer({ worker: false, runtime: createScriptedRuntime() })
  onTestFinished(() => server.close())
  const folder = join(server.dataDirectory, 'models')
  await mkdir(folder)
  if (!mount(folder)) skip('only root can mount a small filesystem')
  onTestFinished(() => void execFileSync('umount', [folder]))
  const admin = await registerClient(server.url)
  const location = await startUpload(admin, tiny.length)
  const tooLarge = await announceUpload(admin, 3_000_000)
  expect([tooLarge.status, tooLarge.body.code]).toEqual([503, 'storage_full'])
  const ballast = join(folder, 'ballast')
  writeFileSync(ballast, Buffer.alloc(2_500_000))
  const full = await sendPart(admin, location, 0, tiny)
  expect([full.status, full.body.code]).toEqual([503, 'storage_full'])
  const offset = (await readOffset(admin, location))!
  expect(offset).toBeGreaterThan(1_000_000)
  rmSync(ballast)
  expect((await sendPart(admin, location, offset, tiny.subarray(offset))).status).toBe(204)
  expect(readdirSync(folder)).toContain(`${sha256(tiny)}.gguf`)
})

test('kill -9 at random moments of uploads: each goes on or is gone, and no file stays without an upload', async () => {
  const database = await createTestDatabase('migrated')
  const dataDirectory = await createDataDirectory()
  const settings = { DATABASE_URL: database.url, DATA_DIR: dataDirectory, SECRET_KEY: 'k'.repeat(32) }
  let server = spawnServer(settings)
  onTestFinished(async () => {
    server.child.kill('SIGKILL')
    await server.exited
    await removeDataDirectory(dataDirectory)
    await database.drop()
  })
  const registered = await registerClient(await server.listening)
  const connect = (url: string): Client => {
    const client = createClient(url)
    client.setCookie(registered.cookie())
    return client
  }
  const names = ['kept', 'discarded']
  for (let round = 0; round < 5; round++) {
    let admin = connect(await server.listening)
    const locations = await Promise.all(
      names.map((name) => startUpload(admin, tiny.length, { filename: `${name}.gguf` })),
    )
    const work = Promise.allSettled(locations.map((location) => sendAll(admin, location, round)))
    // Past the last part, the server hashes and renames.
    await delay(Math.random() * 250)
    server.child.kill('SIGKILL')
    await server.exited
    await work
    server = spawnServer(settings)
    admin = connect(await server.listening)
    const [kept = '', discarded = ''] = locations
    // The lease of the killed process ends.
    await vi.waitFor(async () => expect(await finish(admin, kept)).toBe(204), {
      timeout: 20_000,
      interval: 500,
    })
    const model = await admin.post('/api/v1/deployable-models', {
      upload_id: kept.split('/').at(-1),
      model_name: `kept-${round}`,
    })
    expect(model.status, JSON.stringify(model.body)).toBe(201)
    expect((await admin.request('DELETE', discarded, undefined, tusHeaders)).status).toBe(204)
  }
  const { db, clock, config } = await openApplication(settings)
  const modelStore = createDiskStore(dataDirectory)
  await sweepUploads({ db, clock, config: { ...config, dataDirectory }, modelStore })
  const parts = join(dataDirectory, 'models', 'uploads')
  expect(existsSync(parts) ? readdirSync(parts) : []).toEqual([])
  const contents = readdirSync(join(dataDirectory, 'models')).filter((name) => name.endsWith('.gguf'))
  expect(contents).toEqual([`${sha256(tiny)}.gguf`])
  expect(sha256(readFileSync(join(dataDirectory, 'models', contents[0]!)))).toBe(sha256(tiny))
})

async function openApplication({ DATABASE_URL, SECRET_KEY }: { DATABASE_URL: string; SECRET_KEY: string }) {
  const other = await startTestServer({ worker: false, settings: { DATABASE_URL, SECRET_KEY } })
  onTestFinished(() => other.close())
  return other.application
}

/** Sends a file in parts. */
async function sendAll(client: Client, location: string, round: number): Promise<void> {
  const size = 200_000 * (round + 1)
  for (let at = 0; at < tiny.length; at += size) {
    await sendPart(client, location, at, tiny.subarray(at, at + size))
  }
}

/** Sends the rest of a file; an empty one for a file whose end was cut off. Resolves to the status. */
async function finish(client: Client, location: string): Promise<number> {
  const offset = (await readOffset(client, location))!
  return (await sendPart(client, location, offset, tiny.subarray(offset))).status
}
