import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { request as sendRequest } from 'node:http'
import { join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deriveFileKey } from '../../../../src/features/own-models/uploads/file-key.ts'
import { registerClient } from '../../../support/client.ts'
import { deploy, waitForStatus } from '../../../support/deployments.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'
import { sha256, uploadFile } from '../../../support/tus.ts'

const tiny = readFileSync(resolve(import.meta.dirname, '../../../../../catalog/weights/berth-tiny.gguf'))
const path = `/api/v1/model-files/${sha256(tiny)}.gguf`
const deployments = '/api/v1/model-deployments'
const nobody = '0198a000-0000-7000-8000-000000000000'

let server: TestServer
let admin: Awaited<ReturnType<typeof registerClient>>
/** The deployments of the uploaded file and of a model of the catalog */
let uploaded: string
let bundled: string
beforeAll(async () => {
  server = await startTestServer({
    runtime: createScriptedRuntime(),
    settings: { PUBLIC_URL: 'http://berth.example.com' },
  })
  admin = await registerClient(server.url)
  const added = await admin.post('/api/v1/deployable-models', { upload_id: await uploadFile(admin, tiny) })
  expect(added.status).toBe(201)
  uploaded = (await deploy(admin, added.body.model_name)).id
  bundled = (await deploy(admin)).id
})
afterAll(() => server.close())

const keyOf = (id: string) => deriveFileKey(server.application.secretKey, id)

interface Download {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/** Requests a file as an engine does, by an address that only the cluster knows. */
async function download(
  headers: Record<string, string> = {},
  { method = 'GET', at = path, credentials = `${uploaded}:${keyOf(uploaded)}` } = {},
): Promise<Download> {
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
  const sent = { host: 'berth.berth.svc', ...(credentials === '' ? {} : { authorization }), ...headers }
  const request = sendRequest(new URL(at, server.url), { method, headers: sent }).end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { status: response.statusCode!, headers: response.headers, body: await buffer(response) }
}

test('an engine gets the file of its deployment, with its SHA-256 as ETag', async () => {
  const { status, headers, body } = await download()
  expect(status).toBe(200)
  expect(sha256(body)).toBe(sha256(tiny))
  expect(headers).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-length': String(tiny.length),
    'accept-ranges': 'bytes',
    etag: `"${sha256(tiny)}"`,
  })
})

test('HEAD tells the size without the bytes', async () => {
  const { status, headers, body } = await download({}, { method: 'HEAD' })
  expect([status, body.length]).toEqual([200, 0])
  expect(headers).toMatchObject({
    'content-length': String(tiny.length),
    'accept-ranges': 'bytes',
    etag: `"${sha256(tiny)}"`,
  })
})

test('Range resumes a download, If-Range only for the same file', async () => {
  const rest = await download({ range: 'bytes=1000000-', 'if-range': `"${sha256(tiny)}"` })
  expect(rest.status).toBe(206)
  expect(rest.headers['content-range']).toBe(`bytes 1000000-${tiny.length - 1}/${tiny.length}`)
  expect(rest.body.equals(tiny.subarray(1_000_000))).toBe(true)
  const part = await download({ range: 'bytes=5-9' })
  expect([part.status, part.headers['content-length']]).toEqual([206, '5'])
  expect(part.body.equals(tiny.subarray(5, 10))).toBe(true)
  const other = await download({ range: 'bytes=5-9', 'if-range': '"other"' })
  expect([other.status, other.body.length]).toEqual([200, tiny.length])
  const beyond = await download({ range: `bytes=${tiny.length}-` })
  expect([beyond.status, beyond.headers['content-range']]).toEqual([416, `bytes */${tiny.length}`])
  expect(JSON.parse(beyond.body.toString()).code).toBe('range_not_satisfiable')
})

test.each([
  ['no key', () => ''],
  ['another key', () => `${uploaded}:${keyOf(bundled)}`],
  ['a key that is too short', () => `${uploaded}:${keyOf(uploaded).slice(1)}`],
  ['the name of no deployment', () => `x:${keyOf(uploaded)}`],
  ['a deployment without an uploaded file', () => `${bundled}:${keyOf(bundled)}`],
  ['a deployment that does not exist', () => `${nobody}:${keyOf(nobody)}`],
])('%s is a 401', async (_name, makeCredentials) => {
  for (const method of ['GET', 'HEAD']) {
    const { status, body } = await download({}, { method, credentials: makeCredentials() })
    expect(status).toBe(401)
    if (method === 'GET') expect(JSON.parse(body.toString()).code).toBe('invalid_engine_key')
  }
})

test('a person’s session opens no file', async () => {
  expect((await admin.get(path)).status).toBe(401)
})

test.each([`/api/v1/model-files/${'0'.repeat(64)}.gguf`, '/api/v1/model-files/..%2f..%2fsecret-key'])(
  'a deployment opens only its own file, not %s',
  async (at) => {
    expect((await download({}, { at })).status).toBe(404)
  },
)

test('a server without the file says so', async () => {
  const file = join(server.dataDirectory, 'models', `${sha256(tiny)}.gguf`)
  await rename(file, `${file}.moved`)
  const { status, body } = await download()
  await rename(`${file}.moved`, file)
  expect(status).toBe(404)
  expect(JSON.parse(body.toString()).detail).toMatch(/same folder of models/)
})

test('the key lasts while the deployment sleeps, and ends with it', async () => {
  expect((await admin.post(`${deployments}/${uploaded}/sleep`)).status).toBe(200)
  await waitForStatus(admin, uploaded, 'sleeping')
  expect((await download({}, { method: 'HEAD' })).status).toBe(200)
  expect((await admin.delete(`${deployments}/${uploaded}`)).status).toBe(200)
  expect((await download()).status).toBe(401)
})
