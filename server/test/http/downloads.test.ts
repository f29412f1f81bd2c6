import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { serveDownloads } from '../../src/http/downloads.ts'
import { createHttpServer } from '../../src/process/server.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const url = '/downloads/berth-cli.tgz'

let server: TestServer
let folder: string
let file: string

beforeAll(async () => {
  server = await startTestServer({ worker: false })
})
afterAll(() => server.close())

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-downloads-'))
  file = join(folder, 'berth-cli.tgz')
  return () => rm(folder, { recursive: true })
})

/** A server whose package is `file`. */
async function openDownloads() {
  const app = createHttpServer(server.application)
  await serveDownloads(app, file)
  return app
}

test('the package has an entity tag, so that the next installation downloads only a new one', async () => {
  await writeFile(file, 'first')
  const app = await openDownloads()
  const first = await app.inject({ url })
  expect(first).toMatchObject({ statusCode: 200, body: 'first' })
  expect(first.headers).toMatchObject({ 'cache-control': 'public, max-age=0', etag: expect.any(String) })
  const headers = { 'if-none-match': String(first.headers.etag) }
  expect(await app.inject({ url, headers })).toMatchObject({ statusCode: 304, body: '' })
  expect(await app.inject({ url, method: 'HEAD' })).toMatchObject({ statusCode: 200, body: '' })
  await writeFile(file, 'second')
  expect(await app.inject({ url, headers })).toMatchObject({ statusCode: 200, body: 'second' })
  await app.close()
})

test('a server without a build responds with a 404 that says what is missing, also while it runs', async () => {
  const app = await openDownloads()
  const missing = await app.inject({ url })
  expect(missing.statusCode).toBe(404)
  expect(missing.json()).toMatchObject({
    code: 'not_found',
    detail: expect.stringContaining('npm run build'),
  })
  await writeFile(file, 'first')
  expect((await app.inject({ url })).statusCode).toBe(200)
  await app.close()
})

test('nothing else below /downloads/ exists, for browsers too', async () => {
  for (const path of ['/downloads/', '/downloads/package.json', '/downloads/..%2fpackage.json']) {
    const response = await fetch(server.url + path, { headers: { accept: 'text/html' } })
    expect(response.status, path).toBe(404)
  }
})
