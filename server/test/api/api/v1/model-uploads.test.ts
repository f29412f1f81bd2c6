import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { request as sendRequest } from 'node:http'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { Upload } from 'tus-js-client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { sweepUploads } from '../../../../src/features/own-models/uploads/remove-upload.ts'
import { registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { makeGguf, qwenMetadata } from '../../../support/hub/model-files.ts'
import { joinClient } from '../../../support/organizations.ts'
import { deploy, waitForStatus } from '../../../support/deployments.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'
import {
  announceUpload,
  readOffset,
  sendPart,
  sha256,
  startUpload,
  tusHeaders,
  uploadFile,
  uploadsPath,
} from '../../../support/tus.ts'

const models = '/api/v1/deployable-models'
const tiny = readFileSync(resolve(import.meta.dirname, '../../../../../catalog/weights/berth-tiny.gguf'))
const maxBytes = 8 * 2 ** 20
const quotaBytes = 16 * 2 ** 20
const otherFile = (fill: number) => Buffer.concat([makeGguf(qwenMetadata), Buffer.alloc(1000, fill)])

let server: TestServer
let admin: Awaited<ReturnType<typeof registerClient>>
let stranger: Client
beforeAll(async () => {
  server = await startTestServer({
    settings: { UPLOAD_QUOTA: `${quotaBytes}B` },
    config: {
      uploads: { maxBytes },
      minimumRate: { bytesPerSecond: 1000, timeoutMilliseconds: 1000 },
    },
  })
  admin = await registerClient(server.url)
  stranger = await registerClient(server.url)
})
afterAll(() => server.close())

const folder = (...path: string[]) => join(server.dataDirectory, 'models', ...path)
const listParts = () => (existsSync(folder('uploads')) ? readdirSync(folder('uploads')) : [])
const listContents = () => readdirSync(folder()).filter((name) => name.endsWith('.gguf'))

describe('the tus protocol', () => {
  test('creation, parts, HEAD, list and termination', async () => {
    const location = await startUpload(admin, tiny.length)
    expect(await readOffset(admin, location)).toBe(0)
    const first = await sendPart(admin, location, 0, tiny.subarray(0, 1_000_000))
    expect(first.status).toBe(204)
    expect(first.headers.get('upload-offset')).toBe('1000000')
    expect(first.headers.get('tus-resumable')).toBe('1.0.0')
    const head = await admin.request('HEAD', location, undefined, tusHeaders)
    expect(Object.fromEntries(head.headers)).toMatchObject({
      'cache-control': 'no-store',
      'upload-offset': '1000000',
      'upload-length': String(tiny.length),
      'upload-metadata': `filename ${Buffer.from('tiny-Q8_0.gguf').toString('base64')}`,
    })
    const { body } = await admin.get(uploadsPath)
    const started = {
      id: location.split('/').at(-1),
      file_name: 'tiny-Q8_0.gguf',
      bytes: tiny.length,
      status: 'receiving',
    }
    expect(body).toEqual([expect.objectContaining({ ...started, received: 1_000_000 })])
    expect(Date.parse(body[0].expires_at) - Date.parse(body[0].created_at)).toBeGreaterThan(86_000_000)
    expect((await sendPart(admin, location, 1_000_000, tiny.subarray(1_000_000))).status).toBe(204)
    expect((await admin.get(uploadsPath)).body).toEqual([
      expect.objectContaining({ ...started, status: 'complete', received: tiny.length }),
    ])
    expect(listParts()).toEqual([])
    expect(listContents()).toEqual([`${sha256(tiny)}.gguf`])
    expect((await admin.request('DELETE', location, undefined, tusHeaders)).status).toBe(204)
    expect(await readOffset(admin, location)).toBeNull()
    expect(listContents()).toEqual([])
  })

  test('OPTIONS names version, extensions and the largest file', async () => {
    const { status, headers } = await admin.request('OPTIONS', uploadsPath)
    expect(status).toBe(204)
    expect(Object.fromEntries(headers)).toMatchObject({
      'tus-version': '1.0.0',
      'tus-extension': 'creation,termination,checksum,expiration',
      'tus-max-size': String(maxBytes),
      'tus-checksum-algorithm': 'sha1,sha256',
    })
  })

  test.each([
    ['another version', { 'tus-resumable': '0.2.2' }, 412, 'tus_version_not_supported'],
    ['no length', {}, 400, 'malformed_request'],
    ['an empty file', { 'upload-length': '0' }, 400, 'malformed_request'],
    ['a deferred length', { 'upload-defer-length': '1' }, 400, 'malformed_request'],
    ['a length that is no number', { 'upload-length': '1e3' }, 400, 'malformed_request'],
    ['a length of 2^64', { 'upload-length': '18446744073709551616' }, 400, 'malformed_request'],
    ['the limit of a file', { 'upload-length': String(maxBytes + 1) }, 413, 'upload_too_large'],
    [
      'a digest that is none',
      { 'upload-length': '1', 'upload-metadata': 'sha256 YWJj' },
      400,
      'malformed_request',
    ],
  ])('creation with %s is refused', async (_what, headers, status, code) => {
    const answer = await admin.request('POST', uploadsPath, undefined, { ...tusHeaders, ...headers })
    expect(answer.status, JSON.stringify(answer.body)).toBe(status)
    expect(answer.body.code).toBe(code)
    expect(answer.headers.get('tus-version')).toBe('1.0.0')
  })

  test('the name of a file is its last segment, and never a path of the server', async () => {
    const location = await startUpload(admin, 100, { filename: '../../etc/pass\u0000wd.gguf' })
    expect((await admin.get(uploadsPath)).body[0].file_name).toBe('passwd.gguf')
    await admin.request('DELETE', location, undefined, tusHeaders)
  })

  test('another offset is a 409 that changes nothing, another type a 415, a longer body a 413', async () => {
    const location = await startUpload(admin, tiny.length)
    await sendPart(admin, location, 0, tiny.subarray(0, 1000))
    const wrong = await sendPart(admin, location, 10, tiny.subarray(10))
    expect([wrong.status, wrong.body.code]).toEqual([409, 'upload_offset_mismatch'])
    const json = await sendPart(admin, location, 1000, tiny, { 'content-type': 'application/json' })
    expect([json.status, json.body.code]).toEqual([415, 'unsupported_media_type'])
    const long = await sendPart(admin, location, 1000, tiny)
    expect([long.status, long.body.code]).toEqual([413, 'body_too_large'])
    expect(await readOffset(admin, location)).toBe(1000)
    expect((await sendPart(admin, location, 1000, tiny.subarray(1000))).status).toBe(204)
    await admin.request('DELETE', location, undefined, tusHeaders)
  })

  test('a part without its checksum is a 460 and does not count; with it, it counts', async () => {
    const location = await startUpload(admin, tiny.length)
    const part = tiny.subarray(0, 50_000)
    const checksum = (bytes: Uint8Array) => `sha1 ${createHash('sha1').update(bytes).digest('base64')}`
    const wrong = await sendPart(admin, location, 0, part, { 'upload-checksum': checksum(Buffer.from('x')) })
    expect([wrong.status, wrong.body.code]).toEqual([460, 'checksum_mismatch'])
    expect(await readOffset(admin, location)).toBe(0)
    const unknown = await sendPart(admin, location, 0, part, { 'upload-checksum': 'crc32 AAAA' })
    expect(unknown.status).toBe(400)
    const right = await sendPart(admin, location, 0, part, { 'upload-checksum': checksum(part) })
    expect(right.headers.get('upload-offset')).toBe('50000')
    await admin.request('DELETE', location, undefined, tusHeaders)
  })

  test('tus-js-client uploads in chunks, checks nothing twice and finds the end', async () => {
    const done = Promise.withResolvers<string>()
    const upload = new Upload(Buffer.from(tiny), {
      endpoint: server.url + uploadsPath,
      headers: { cookie: admin.cookie() },
      chunkSize: 700_000,
      metadata: { filename: 'by-client.gguf' },
      onSuccess: () => done.resolve(upload.url!),
      onError: done.reject,
    })
    upload.start()
    const location = new URL(await done.promise).pathname
    expect((await admin.get(uploadsPath)).body[0]).toMatchObject({ status: 'complete', bytes: tiny.length })
    expect((await admin.request('DELETE', location, undefined, tusHeaders)).status).toBe(204)
  })
})

test('a part with a coding is a 415 with Accept-Encoding, and no byte of it counts', async () => {
  const location = await startUpload(admin, 1000)
  const answer = await sendPart(admin, location, 0, gzipSync(Buffer.alloc(1000)), {
    'content-encoding': 'gzip',
  })
  expect(answer).toMatchObject({ status: 415, body: { code: 'unsupported_encoding' } })
  expect(answer.headers.get('accept-encoding')).toBe('identity')
  expect(await readOffset(admin, location)).toBe(0)
  await admin.request('DELETE', location, undefined, tusHeaders)
})

test('UPLOAD_QUOTA=off refuses bytes and files that arrived before, and says so to the console', async () => {
  const off = await startTestServer({ worker: false, settings: { UPLOAD_QUOTA: 'off' } })
  try {
    const { config } = off.application
    config.uploads.quotaBytes = quotaBytes
    const client = await registerClient(off.url)
    const upload_id = await uploadFile(client, tiny)
    const location = await startUpload(client, 1000)
    expect((await client.get('/v1/installation')).body).toMatchObject({ model_uploads: true })
    config.uploads.quotaBytes = null
    const refused = { status: 403, body: { code: 'uploads_disabled' } }
    expect(await announceUpload(client, 1000)).toMatchObject(refused)
    expect(await sendPart(client, location, 0, Buffer.alloc(10))).toMatchObject(refused)
    expect(await client.post(`${models}/inspect`, { upload_id })).toMatchObject(refused)
    expect(await client.post(models, { upload_id })).toMatchObject(refused)
    expect((await client.get('/v1/installation')).body).toMatchObject({ model_uploads: false })
    expect((await client.request('DELETE', location, undefined, tusHeaders)).status).toBe(204)
  } finally {
    await off.close()
  }
})

describe('what no engine can load', () => {
  const invalid: [string, Buffer, number, string][] = [
    ['an archive', Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(40)]), 422, 'not_gguf'],
    ['a header that ends', makeGguf(qwenMetadata).subarray(0, 500), 422, 'not_gguf'],
    [
      'an architecture that nobody has',
      makeGguf({ ...qwenMetadata, 'general.architecture': 'qwen99' }),
      422,
      'unsupported_architecture',
    ],
    ['a projector', makeGguf({ 'general.architecture': 'clip' }), 422, 'unsupported_architecture'],
    [
      'one part of a split model',
      makeGguf({ ...qwenMetadata, 'split.count': 3 }),
      422,
      'no_runnable_weights',
    ],
  ]
  test.each(invalid)('%s is refused, and nothing stays', async (_what, bytes, status, code) => {
    const location = await startUpload(admin, bytes.length)
    const answer = await sendPart(admin, location, 0, bytes)
    expect([answer.status, answer.body.code], JSON.stringify(answer.body)).toEqual([status, code])
    expect(await readOffset(admin, location)).toBeNull()
    expect(listParts()).toEqual([])
  })

  test('a wrong file is refused before its bytes have arrived', async () => {
    const location = await startUpload(admin, maxBytes)
    const { status, pieces } = await sendSlowly(location, Buffer.alloc(1024, 'x'), maxBytes)
    expect(status).toBe(422)
    expect(pieces).toBeLessThan(20)
  })

  test('a valid header in many small parts is accepted', async () => {
    const location = await startUpload(admin, tiny.length)
    for (let at = 0; at < 2000; at += 100) {
      expect((await sendPart(admin, location, at, tiny.subarray(at, at + 100))).status).toBe(204)
    }
    await admin.request('DELETE', location, undefined, tusHeaders)
  })

  test('a chat template that would take the memory of its engine makes no model', async () => {
    const template =
      '{% set n = namespace(x=["a"]) %}{% for a in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}'
    const bytes = makeGguf({ ...qwenMetadata, 'tokenizer.chat_template': template })
    const upload_id = await uploadFile(admin, bytes)
    const { status, body } = await admin.post(models, { upload_id })
    expect([status, body.code]).toEqual([422, 'no_runnable_weights'])
    expect(body.reasons).toEqual(["Rendering the model's chat template takes too much memory."])
    await admin.request('DELETE', `${uploadsPath}/${upload_id}`, undefined, tusHeaders)
  })

  test('another SHA-256 than announced: 460, and the upload is gone', async () => {
    const location = await startUpload(admin, tiny.length, { sha256: 'a'.repeat(64) })
    const answer = await sendPart(admin, location, 0, tiny)
    expect([answer.status, answer.body.code]).toEqual([460, 'checksum_mismatch'])
    expect(answer.body.detail).toContain(sha256(tiny))
    expect(await readOffset(admin, location)).toBeNull()
    expect(listContents()).toEqual([])
  })
})

/** Sends the same piece every 20 ms until the server responds. */
function sendSlowly(location: string, piece: Buffer, length: number) {
  const outcome = Promise.withResolvers<{ status: number; pieces: number }>()
  let pieces = 0
  const request = sendRequest(server.url + location, {
    method: 'PATCH',
    headers: {
      ...tusHeaders,
      cookie: admin.cookie(),
      'content-type': 'application/offset+octet-stream',
      'content-length': length,
      'upload-offset': 0,
    },
  })
  const timer = setInterval(() => {
    request.write(piece)
    pieces += 1
  }, 20)
  request.on('response', (response) => {
    clearInterval(timer)
    outcome.resolve({ status: response.statusCode!, pieces })
    request.destroy()
  })
  request.on('error', outcome.reject)
  return outcome.promise
}

describe('connections that break', () => {
  test('what arrived before a cut counts, and the rest resumes', async () => {
    const location = await startUpload(admin, tiny.length)
    const request = sendRequest(server.url + location, {
      method: 'PATCH',
      headers: {
        ...tusHeaders,
        cookie: admin.cookie(),
        'content-type': 'application/offset+octet-stream',
        'content-length': tiny.length,
        'upload-offset': 0,
      },
    })
    request.on('error', () => {})
    request.write(tiny.subarray(0, 500_000))
    await vi.waitFor(() => expect(listParts()).toHaveLength(1))
    await delay(200)
    request.destroy()
    await vi.waitFor(async () => expect(await readOffset(admin, location)).toBe(500_000), 5_000)
    expect((await sendPart(admin, location, 500_000, tiny.subarray(500_000))).status).toBe(204)
    await admin.request('DELETE', location, undefined, tusHeaders)
  })

  test('a new request ends one whose client is silent, which otherwise ends as too slow', async () => {
    const location = await startUpload(admin, tiny.length)
    const silent = openSilent(location, 0, tiny.subarray(0, 300_000))
    await vi.waitFor(() => expect(listParts()).toHaveLength(1))
    await delay(200)
    // The bytes of the silent request have arrived, although HEAD may not know them yet.
    const mismatch = await sendPart(admin, location, 0, tiny)
    expect([mismatch.status, mismatch.body.code]).toEqual([409, 'upload_offset_mismatch'])
    expect(await silent.status).toBe(423)
    expect(await readOffset(admin, location)).toBe(300_000)
    const other = openSilent(location, 300_000, tiny.subarray(300_000, 301_000))
    expect(await other.status).toBe(408)
    expect(await readOffset(admin, location)).toBe(301_000)
    await admin.request('DELETE', location, undefined, tusHeaders)
  })

  test('while another process writes to an upload, a request is a 423 upload_locked', async () => {
    const location = await startUpload(admin, tiny.length)
    const lease = server.application.db
      .updateTable('model_uploads')
      .where('id', '=', location.split('/').at(-1)!)
    await lease.set({ writer: randomUUID(), leased_until: new Date(Date.now() + 60_000) }).execute()
    expect(await sendPart(admin, location, 0, tiny)).toMatchObject({
      status: 423,
      body: { code: 'upload_locked' },
    })
    await lease.set({ writer: null, leased_until: null }).execute()
    expect((await sendPart(admin, location, 0, tiny)).status).toBe(204)
    await admin.request('DELETE', location, undefined, tusHeaders)
  })

  test('removal ends the request that writes, and leaves no file', async () => {
    const location = await startUpload(admin, tiny.length)
    const silent = openSilent(location, 0, tiny.subarray(0, 300_000))
    await vi.waitFor(() => expect(listParts()).toHaveLength(1))
    expect((await admin.request('DELETE', location, undefined, tusHeaders)).status).toBe(204)
    expect(await silent.status).toBe(423)
    expect(listParts()).toEqual([])
  })

  /** Sends the beginning of a part and waits for the response. */
  function openSilent(location: string, offset: number, bytes: Buffer) {
    const { promise: status, resolve: answer, reject } = Promise.withResolvers<number>()
    const request = sendRequest(server.url + location, {
      method: 'PATCH',
      headers: {
        ...tusHeaders,
        cookie: admin.cookie(),
        'content-type': 'application/offset+octet-stream',
        'content-length': tiny.length - offset,
        'upload-offset': offset,
      },
    })
    request.on('response', (response) => {
      answer(response.statusCode!)
      request.destroy()
    })
    request.on('error', reject)
    request.write(bytes)
    return { status }
  }
})

describe('limits and others', () => {
  test('20 uploads at the same time do not exceed UPLOAD_QUOTA', async () => {
    const bytes = 3 * 2 ** 20
    const answers = await Promise.all(Array.from({ length: 20 }, () => announceUpload(admin, bytes)))
    const accepted = answers.filter(({ status }) => status === 201)
    expect(accepted).toHaveLength(Math.floor(quotaBytes / bytes))
    const codes = new Set(answers.filter(({ status }) => status === 409).map(({ body }) => body.code))
    expect([...codes]).toEqual(['upload_quota_exceeded'])
    // The quota is that of one organization.
    const other = await startUpload(stranger, bytes)
    await stranger.request('DELETE', other, undefined, tusHeaders)
    for (const { headers } of accepted) {
      await admin.request('DELETE', headers.get('location')!, undefined, tusHeaders)
    }
    expect((await announceUpload(admin, quotaBytes / 2)).status).toBe(201)
  })

  test('another organization gets a 404, a member a 403', async () => {
    const { body: open } = await admin.get(uploadsPath)
    const location = `${uploadsPath}/${open[0].id}`
    const member = await joinClient(server, admin, 'member')
    for (const [client, status] of [
      [stranger, 404],
      [member, 403],
    ] as const) {
      expect((await client.request('HEAD', location, undefined, tusHeaders)).status).toBe(status)
      expect((await sendPart(client, location, 0, tiny)).status).toBe(status)
      expect((await client.request('DELETE', location, undefined, tusHeaders)).status).toBe(status)
      const use = await client.post(models, { upload_id: open[0].id })
      expect(use.status).toBe(status)
    }
    expect((await stranger.get(uploadsPath)).body).toEqual([])
    const incomplete = await admin.post(models, { upload_id: open[0].id })
    expect([incomplete.status, incomplete.body.code]).toEqual([409, 'upload_incomplete'])
    await admin.request('DELETE', location, undefined, tusHeaders)
  })

  test('an upload that received nothing for 24 hours expires; files without an upload go too', async () => {
    const location = await startUpload(admin, tiny.length)
    await sendPart(admin, location, 0, tiny.subarray(0, 1000))
    await mkdir(folder('uploads'), { recursive: true })
    await writeFile(folder('uploads', '0198a000-0000-7000-8000-000000000000'), 'orphan')
    await writeFile(folder(`${'b'.repeat(64)}.gguf`), 'orphan')
    const kept = await uploadFile(admin, otherFile(1), { filename: 'kept.gguf' })
    const after = (hours: number) => () => new Date(Date.now() + hours * 3_600_000)
    await sweepUploads({ ...server.application, clock: after(23) })
    expect(listParts()).toEqual([location.split('/').at(-1)])
    expect(listContents()).toEqual([`${sha256(otherFile(1))}.gguf`])
    await admin.post(models, { upload_id: kept, model_name: 'kept' })
    await sweepUploads({ ...server.application, clock: after(25) })
    expect(await readOffset(admin, location)).toBeNull()
    expect(listParts()).toEqual([])
    expect(listContents()).toEqual([`${sha256(otherFile(1))}.gguf`])
  })
})

describe('POST /api/v1/deployable-models {upload_id}', () => {
  test('an upload is inspected, becomes a model, deploys, answers, and its removal removes the file', async () => {
    const id = await uploadFile(admin, tiny, { filename: 'My Tiny (Q8_0).gguf', sha256: sha256(tiny) })
    const inspection = await admin.post(`${models}/inspect`, { upload_id: id })
    expect(inspection.body, JSON.stringify(inspection.body)).toMatchObject({
      repository: null,
      commit: null,
      variants: [{ model_format: 'ggufv2', weight_bytes: tiny.length, runs: true, reason: null }],
    })
    const { status, body: model } = await admin.post(models, { upload_id: id })
    expect(status, JSON.stringify(model)).toBe(201)
    expect(model).toMatchObject({
      model_name: 'my-tiny-q8_0',
      display_name: 'My Tiny (Q8_0)',
      owner: 'organization',
      source: {
        kind: 'upload',
        repository: null,
        commit: null,
        file_name: 'My Tiny (Q8_0).gguf',
        bytes: tiny.length,
      },
    })
    expect((await admin.get(uploadsPath)).body).toEqual([])
    expect((await admin.post(models, { upload_id: id, model_name: 'again' })).status).toBe(404)

    const deployment = await deploy(admin, model.model_name)
    const chat = await admin.post('/v1/chat/completions', {
      model: model.model_name,
      messages: [{ role: 'user', content: 'Say hello' }],
      max_tokens: 4,
    })
    expect(chat.status, JSON.stringify(chat.body)).toBe(200)
    expect((await admin.delete(`${models}/${model.id}`)).body.code).toBe('model_in_use')
    await admin.delete(`/api/v1/model-deployments/${deployment.id}`)
    await waitForStatus(admin, deployment.id, 'terminated')
    expect((await admin.delete(`${models}/${model.id}`)).status).toBe(204)
    expect(listContents()).not.toContain(`${sha256(tiny)}.gguf`)
  })

  test.each([
    ['pilot.gguf', 'general.file_type', 7, 'Q8_0'],
    ['pilot-Q4_K_M.gguf', 'general.file_type', 7, 'Q4_K_M'],
    ['pilot.gguf', 'general.file_type', 4, 'unknown'],
    ['pilot.gguf', 'general.size_label', 7, 'unknown'],
  ])('the quantization of %s with %s %d is %s', async (filename, key, value, quantization) => {
    const id = await uploadFile(admin, makeGguf({ ...qwenMetadata, [key]: value }), { filename })
    const { body } = await admin.post(`${models}/inspect`, { upload_id: id })
    expect(body.variants, JSON.stringify(body)).toMatchObject([{ quantizations: [quantization] }])
    await admin.request('DELETE', `${uploadsPath}/${id}`, undefined, tusHeaders)
  })

  test('two organizations share the file of one content until the last model is removed', async () => {
    const bytes = otherFile(2)
    const name = `${sha256(bytes)}.gguf`
    const added = await Promise.all(
      [admin, stranger].map(async (client) => {
        const id = await uploadFile(client, bytes, { filename: 'same.gguf' })
        return (await client.post(models, { upload_id: id })).body.id as string
      }),
    )
    expect(listContents()).toContain(name)
    await admin.delete(`${models}/${added[0]}`)
    expect(listContents()).toContain(name)
    await stranger.delete(`${models}/${added[1]}`)
    expect(listContents()).not.toContain(name)
  })

  test('a name that is taken is a 409, and the upload stays', async () => {
    const id = await uploadFile(admin, otherFile(3), { filename: 'berth-tiny.gguf' })
    expect((await admin.post(models, { upload_id: id })).body.code).toBe('model_name_taken')
    expect((await admin.post(models, { upload_id: id, model_name: 'third' })).status).toBe(201)
  })

  test.each([
    ['neither', {}],
    ['both', { huggingface: 'a/b', upload_id: '0198a000-0000-7000-8000-000000000000' }],
  ])('%s a repository nor an upload: 422', async (_what, body) => {
    const answer = await admin.post(models, body)
    expect(answer.status).toBe(422)
    expect(answer.body.errors).toEqual([expect.objectContaining({ field: 'huggingface' })])
  })
})
