import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createModelStore } from '../../src/wiring/choose-adapters.ts'
import { readConfig } from '../../src/config/config.ts'
import { deriveFileKey } from '../../src/features/own-models/uploads/file-key.ts'
import { sweepUploads } from '../../src/features/own-models/uploads/remove-upload.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { makeGguf, qwenMetadata } from '../support/hub/model-files.ts'
import { createDataDirectory, removeDataDirectory, spawnServer } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'
import { startTestServer } from '../support/server.ts'
import { readOffset, sendPart, sha256, startUpload, tusHeaders, uploadFile } from '../support/tus.ts'
import { createBucket } from './bucket.ts'
import type { Bucket } from './bucket.ts'
import { startStoreProxy } from './store-proxy.ts'
import type { StoreProxy } from './store-proxy.ts'

const models = '/api/v1/deployable-models'
const tiny = readFileSync(resolve(import.meta.dirname, '../../../catalog/weights/berth-tiny.gguf'))
const stored = [`berth/${sha256(tiny)}.gguf`]
/** More than two parts of a multipart upload */
const large = Buffer.concat([makeGguf(qwenMetadata), randomBytes(20 * 2 ** 20)])

let bucket: Bucket
let proxy: StoreProxy
beforeEach(async () => {
  bucket = await createBucket()
  proxy = await startStoreProxy()
})
afterEach(() => proxy.close())

async function startServer(settings: Record<string, string> = {}, worker = true) {
  const server = await startTestServer({ worker, settings: { MODEL_STORE_URL: bucket.url(), ...settings } })
  onTestFinished(() => server.close())
  return server
}

/** Starts servers without a common disk, each in its own process, on one database. */
async function openInstallation() {
  const database = await createTestDatabase('migrated')
  onTestFinished(() => database.drop())
  const common = { DATABASE_URL: database.url, SECRET_KEY: 'k'.repeat(32) }
  return async (settings: Record<string, string> = {}) => {
    const dataDirectory = await createDataDirectory()
    const start = (changes = {}): ServerProcess =>
      spawnServer({
        ...common,
        ...bucket.settings(proxy.address),
        DATA_DIR: dataDirectory,
        ...settings,
        ...changes,
      })
    let server = start()
    onTestFinished(async () => {
      server.child.kill('SIGKILL')
      await server.exited
      await removeDataDirectory(dataDirectory)
    })
    return {
      dataDirectory,
      url: () => server.listening,
      kill: () => void server.child.kill('SIGKILL'),
      output: () => server.output(),
      async restart(changes?: Record<string, string>) {
        await server.exited
        server = start(changes)
        return server.listening
      },
    }
  }
}

function signIn(url: string, other: { cookie(): string }): Client {
  const client = createClient(url)
  client.setCookie(other.cookie())
  return client
}

const listParts = (dataDirectory: string) => {
  const folder = join(dataDirectory, 'models/uploads')
  return existsSync(folder) ? readdirSync(folder) : []
}
const listContents = (dataDirectory: string) =>
  readdirSync(join(dataDirectory, 'models')).filter((name) => name.endsWith('.gguf'))

async function addModel(client: Client, uploadId: string) {
  const added = await client.post(models, { upload_id: uploadId })
  expect(added.status, JSON.stringify(added.body)).toBe(201)
  return added.body as { id: string; model_name: string }
}

async function expectAnswer(client: Client, model: string) {
  const chat = { model, messages: [{ role: 'user', content: 'Say hello' }], max_tokens: 4 }
  const { status, body } = await client.post('/v1/chat/completions', chat)
  expect(status, JSON.stringify(body)).toBe(200)
}

/** Sends the last bytes of an upload, after which the server stores the file. */
async function finish(client: Client, location: string, bytes: Buffer) {
  const offset = (await readOffset(client, location))!
  const { status, body } = await sendPart(client, location, offset, bytes.subarray(offset))
  return { status, body }
}

test('an uploaded model is in the bucket only, is read in ranges, answers, and leaves nothing after its removal', async () => {
  const server = await startServer()
  const admin = await registerClient(server.url)
  const model = await addModel(admin, await uploadFile(admin, tiny))
  expect(await bucket.list()).toEqual(stored)
  expect([...listParts(server.dataDirectory), ...listContents(server.dataDirectory)]).toEqual([])
  const deployment = await deploy(admin, model.model_name)
  await expectAnswer(admin, model.model_name)
  const weights = await server.application.runtimes.weightCache!.list()
  expect(weights).toEqual([expect.objectContaining({ name: `uploads/${sha256(tiny)}.gguf`, isNeeded: true })])

  const url = `${server.url}/api/v1/model-files/${sha256(tiny)}.gguf`
  const key = deriveFileKey(server.application.secretKey, deployment.id)
  const authorization = `Basic ${Buffer.from(`${deployment.id}:${key}`).toString('base64')}`
  const head = await fetch(url, { method: 'HEAD', headers: { authorization } })
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(tiny.length)])
  const part = await fetch(url, { headers: { authorization, range: 'bytes=1000-1999' } })
  expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 1000-1999/${tiny.length}`])
  expect(Buffer.from(await part.arrayBuffer())).toEqual(tiny.subarray(1000, 2000))
  const whole = await fetch(url, { headers: { authorization } })
  expect(sha256(Buffer.from(await whole.arrayBuffer()))).toBe(sha256(tiny))

  await admin.delete(`/api/v1/model-deployments/${deployment.id}`)
  await waitForStatus(admin, deployment.id, 'terminated')
  expect((await admin.delete(`${models}/${model.id}`)).status).toBe(204)
  expect(await bucket.list()).toEqual([])
  expect(await server.application.runtimes.weightCache!.prune()).toHaveLength(1)
})

test('a server without the disk of another one refuses its parts, and serves its models', async () => {
  const start = await openInstallation()
  const [first, second] = [await start({ ROLE: 'api' }), await start()]
  const admin = await registerClient(await first.url())
  const elsewhere = signIn(await second.url(), admin)
  const location = await startUpload(admin, tiny.length)
  await sendPart(admin, location, 0, tiny.subarray(0, 1_000_000))
  const refused = await finish(elsewhere, location, tiny)
  expect([refused.status, refused.body.code]).toEqual([409, 'upload_elsewhere'])
  expect(await readOffset(elsewhere, location)).toBe(1_000_000)
  expect((await finish(admin, location, tiny)).status).toBe(204)
  expect(listParts(first.dataDirectory)).toEqual([])

  const model = await addModel(elsewhere, location.split('/').at(-1)!)
  await deploy(admin, model.model_name)
  await expectAnswer(admin, model.model_name)
  await expectAnswer(elsewhere, model.model_name)
  expect(readdirSync(join(second.dataDirectory, 'weights/uploads'))).toEqual([`${sha256(tiny)}.gguf`])
})

test.each(['used', 'removed'])(
  'kill -9 after the store has the file, before the upload is complete: it is %s afterwards, and nothing is left over',
  async (end) => {
    const start = await openInstallation()
    const [server, other] = [await start({ ROLE: 'api' }), await start({ ROLE: 'api' })]
    const admin = await registerClient(await server.url())
    const location = await startUpload(admin, tiny.length)
    const id = location.split('/').at(-1)!
    proxy.intercepted = { request: /^PUT .*\.gguf/, run: () => server.kill() }
    await expect(finish(admin, location, tiny)).rejects.toThrow()
    const restarted = signIn(await server.restart(), admin)
    expect(await bucket.list()).toEqual(stored)
    expect(listParts(server.dataDirectory)).toEqual([id])
    // The lease of the killed process ends.
    const client = end === 'used' ? signIn(await other.url(), admin) : restarted
    await vi.waitFor(
      async () => {
        const { status } =
          end === 'used'
            ? await client.post(models, { upload_id: id })
            : await client.request('DELETE', location, undefined, tusHeaders)
        expect(status).toBe(end === 'used' ? 201 : 204)
      },
      { timeout: 20_000, interval: 500 },
    )
    expect(await bucket.list()).toEqual(end === 'used' ? stored : [])
    // Each server sweeps its own parts when it starts.
    server.kill()
    await server.restart()
    await vi.waitFor(() => expect(listParts(server.dataDirectory)).toEqual([]))
  },
)

test('kill -9 during a multipart upload: the upload goes on, and what the store keeps of it is removed after a day', async () => {
  const start = await openInstallation()
  const server = await start({ ROLE: 'api' })
  const admin = await registerClient(await server.url())
  const location = await startUpload(admin, large.length)
  proxy.intercepted = { request: /^PUT .*partNumber=/, run: () => server.kill() }
  await expect(finish(admin, location, large)).rejects.toThrow()
  expect([await bucket.list(), await bucket.countOpen()]).toEqual([[], 1])
  const restarted = signIn(await server.restart(), admin)
  await vi.waitFor(async () => expect((await finish(restarted, location, large)).status).toBe(204), {
    timeout: 20_000,
    interval: 500,
  })
  expect([await bucket.list(), await bucket.countOpen()]).toEqual([[`berth/${sha256(large)}.gguf`], 1])
  await addModel(restarted, location.split('/').at(-1)!)

  const tidyAfter = async (hours: number) => {
    const config = readConfig({ MODEL_STORE_URL: bucket.url(), DATA_DIR: server.dataDirectory })
    const log = (await startServer({}, false)).application.log
    const store = await createModelStore(config, log, () => new Date(Date.now() + hours * 3_600_000))
    await store.tidy(new AbortController().signal)
    store.close()
    return bucket.countOpen()
  }
  expect(await tidyAfter(23)).toBe(1)
  expect(await tidyAfter(25)).toBe(0)
})

test.each(['refuse', 'hang'] as const)(
  'a store that does not answer (%s) is a 503, and the upload is complete when it answers again',
  async (mode) => {
    const server = await startServer({ MODEL_STORE_URL: bucket.url(proxy.address) }, false)
    const admin = await registerClient(server.url)
    const location = await startUpload(admin, tiny.length)
    proxy.mode = mode
    const failed = await finish(admin, location, tiny)
    expect([failed.status, failed.body.code]).toEqual([503, 'model_store_unavailable'])
    expect(server.logs.join('')).toMatch(/MODEL_STORE_URL: Berth can't .* in the bucket/)
    expect(await readOffset(admin, location)).toBe(tiny.length)
    proxy.mode = 'pass'
    const model = await addModel(admin, location.split('/').at(-1)!)
    expect(await bucket.list()).toEqual(stored)

    // A removal counts at once. The sweep removes the file later.
    proxy.mode = mode
    expect((await admin.delete(`${models}/${model.id}`)).status).toBe(204)
    proxy.mode = 'pass'
    expect(await bucket.list()).toEqual(stored)
    await sweepUploads(server.application)
    expect(await bucket.list()).toEqual([])
  },
)

test('a store that refuses the credentials is named at the start without them, and loses nothing', async () => {
  const start = await openInstallation()
  const server = await start({ ROLE: 'api', AWS_SECRET_ACCESS_KEY: 'a-wrong-secret' })
  const admin = await registerClient(await server.url())
  const location = await startUpload(admin, tiny.length)
  const failed = await finish(admin, location, tiny)
  expect([failed.status, failed.body.code]).toEqual([503, 'model_store_unavailable'])
  expect(listParts(server.dataDirectory)).toEqual([location.split('/').at(-1)])
  await vi.waitFor(() => expect(server.output()).toMatch(/MODEL_STORE_URL: Berth can't store a file/))
  expect(server.output()).not.toContain('a-wrong-secret')
})

test('files from before MODEL_STORE_URL move to the bucket when the server starts', async () => {
  const start = await openInstallation()
  const before = await start({ MODEL_STORE_URL: '' })
  const admin = await registerClient(await before.url())
  const model = await addModel(admin, await uploadFile(admin, tiny))
  const location = await startUpload(admin, large.length)
  await sendPart(admin, location, 0, large.subarray(0, 5_000_000))
  expect(listContents(before.dataDirectory)).toHaveLength(1)
  before.kill()
  const after = signIn(await before.restart({ MODEL_STORE_URL: bucket.url() }), admin)
  await vi.waitFor(async () => expect(await bucket.list()).toEqual(stored))
  await vi.waitFor(() => expect(listContents(before.dataDirectory)).toEqual([]))
  await deploy(after, model.model_name)
  await expectAnswer(after, model.model_name)
  expect((await finish(after, location, large)).status).toBe(204)
})
